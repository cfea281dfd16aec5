//! The steps that a launcher takes before the command runs, and the failure of one.

/// A step that failed before the command could run.
#[derive(Debug)]
pub(crate) struct StepFailure {
    pub(crate) step: String,
    pub(crate) error: std::io::Error,
}

pub(crate) type LaunchStep<T> = std::result::Result<T, StepFailure>;

/// Names the step in which an error came.
pub(crate) trait During<T> {
    fn during(self, step: impl Into<String>) -> LaunchStep<T>;
}

impl<T, E: Into<std::io::Error>> During<T> for std::result::Result<T, E> {
    fn during(self, step: impl Into<String>) -> LaunchStep<T> {
        self.map_err(|error| StepFailure { step: step.into(), error: error.into() })
    }
}
