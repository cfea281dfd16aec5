//! Operations of programs that a person runs by hand, outside the engine.

use jm_process::command::CommandProgram;
use jm_process::popen;
use jm_process::popen::Popened;
use jm_tools::Scope;
use jm_tools::ops::run::Run;
use jm_types::ToolError;

/// Runs a shell command as popen(3) does, with an environment that holds no secrets.
pub(super) fn popen(run: &Run, scope: &Scope) -> Popened {
    let environment = scope.workspace.environment.sanitize(std::env::vars_os());
    let words = match &run.program {
        CommandProgram::Argv(words) => words.clone(),
        CommandProgram::Shell(command) => {
            ["/bin/sh", "-c", command.as_str()].map(Into::into).to_vec()
        }
    };
    popen::popen(&words, environment)
}

/// Creates or truncates a file and writes its content, as fopen(3) and fwrite(3) do.
pub(super) fn overwrite(path: &str, content: &[u8]) -> Result<(), ToolError> {
    popen::overwrite(path, content)
}
