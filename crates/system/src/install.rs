//! One program under several names.

use std::fs;
use std::io::{self, Error, ErrorKind};
use std::os::unix::fs::symlink;
use std::path::Path;

/// Makes `folder` hold a link to `program` under each of the names. Links that are there already
/// are renewed; anything else of that name is left alone and is an error.
pub fn make_links(folder: &Path, program: &Path, names: &[String]) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    for name in names {
        let link = folder.join(name);
        match fs::symlink_metadata(&link) {
            Ok(there) if there.is_symlink() => fs::remove_file(&link)?,
            Ok(_) => {
                let words = format!("{} exists and is not a link", link.display());
                return Err(Error::new(ErrorKind::AlreadyExists, words));
            }
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
        symlink(program, &link)?;
    }
    Ok(())
}
