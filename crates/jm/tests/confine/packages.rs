//! Package managers fetch through the gate, from a registry that is listed.

use std::path::Path;
use std::process::Command;

use crate::gate::Server;
use crate::world::{User, World, works};

/// A package of each kind, and what their registries say of it; `PORT` is the registry's own.
const MADE: &str = r#"set -e
mkdir -p crate/small-0.1.0/src index/sm/al package
printf '[package]\nname = "small"\nversion = "0.1.0"\nedition = "2021"\n' > crate/small-0.1.0/Cargo.toml
echo 'pub const SIZE: u8 = 1;' > crate/small-0.1.0/src/lib.rs
tar -C crate -czf small-0.1.0.crate small-0.1.0
sum=$(sha256sum < small-0.1.0.crate | cut -d' ' -f1)
printf '{"dl": "http://localhost:%s/{crate}-{version}.crate"}' PORT > index/config.json
printf '{"name":"small","vers":"0.1.0","deps":[],"cksum":"%s","features":{},"yanked":false}\n' $sum > index/sm/al/small
echo '{"name":"small","version":"1.0.0"}' > package/package.json
tar -czf small-1.0.0.tgz package
sum=$(sha1sum < small-1.0.0.tgz | cut -d' ' -f1)
printf '{"name":"small","dist-tags":{"latest":"1.0.0"},"versions":{"1.0.0":{"name":"small","version":"1.0.0","dist":{"tarball":"http://localhost:%s/small-1.0.0.tgz","shasum":"%s"}}}}' PORT $sum > small
"#;

/// The program that is needed, and a script that ends with 0 when the package has come; `PORT` is the registry's.
const CLIENTS: &[(&str, &str)] = &[
    (
        "cargo",
        r#"mkdir -p c/src c/.cargo && cd c && touch src/lib.rs &&
printf '[registries.local]\nindex = "sparse+http://localhost:%s/index/"\n' PORT > .cargo/config.toml &&
printf '[package]\nname = "c"\nedition = "2021"\n[dependencies]\nsmall = { version = "0.1", registry = "local" }\n' > Cargo.toml &&
cargo fetch -q && ls "${CARGO_HOME:-$HOME/.cargo}"/registry/src/*/small-0.1.0/src/lib.rs"#,
    ),
    (
        "npm",
        "mkdir n && cd n && echo '{}' > package.json && npm install --loglevel=error --no-audit --no-fund \
         --no-update-notifier --registry=http://localhost:PORT small && test -f \
         node_modules/small/package.json",
    ),
];

fn make(folder: &Path, port: u16) {
    std::fs::create_dir(folder).unwrap();
    let script = MADE.replace("PORT", &port.to_string());
    let made = Command::new("sh").args(["-c", &script]).current_dir(folder).output().unwrap();
    assert!(made.status.success(), "{made:?}");
}

#[test]
fn package_managers_get_through_the_gate() {
    let own = |name: &str| std::env::var_os(name).unwrap_or_default();
    let layers = jm_testing::has("overlay");
    for backend in ["namespaces", "landlock"].into_iter().filter(|one| works(User::Own, one)) {
        let world = World::new(User::Own, backend);
        let server = Server::start(world.at("served"));
        make(&world.at("served"), server.port);
        let list = format!("--network=localhost:{}", server.port);
        for (program, script) in CLIENTS {
            if !jm_testing::has(program) {
                continue;
            }
            // Landlock alone has no home to write to, and a kernel may know no layers.
            let caches = match backend {
                "namespaces" if layers => "",
                _ => "export CARGO_HOME=$PWD/cargo npm_config_cache=$PWD/npm; ",
            };
            let script = [caches, &script.replace("PORT", &server.port.to_string())].concat();
            let mut jm = world.command(env!("CARGO_BIN_EXE_jm"));
            jm.env("PATH", own("PATH")).env("HOME", own("HOME"));
            jm.args(["sandbox", "--backend", backend, "--timeout", "60", &list]);
            let output = jm.args(["--", "sh", "-c", &script]).output().unwrap();
            assert!(output.status.success(), "{backend}: {program}: {output:?}");
            assert_eq!(server.strange(), Vec::<String>::new(), "{backend}: {program}");
        }
    }
    // What was fetched into a cache of the home went with the command.
    let left = "ls -d \"$HOME\"/.cargo/registry/src/*/small-0.1.0 2> /dev/null";
    assert!(!Command::new("sh").args(["-c", left]).status().unwrap().success());
}
