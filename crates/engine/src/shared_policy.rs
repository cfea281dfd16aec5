//! The policy in force, which an answer "always" may replace while a session goes on.
//!
//! Law: a call is judged by one policy from beginning to end; a new one counts for the next look.

use std::sync::{Arc, PoisonError, RwLock};

use jm_policy::Policy;

/// The policy that calls are judged by. A clone is the same policy, for whoever may change it meanwhile.
#[derive(Debug, Clone)]
pub struct SharedPolicy(Arc<RwLock<Arc<Policy>>>);

impl SharedPolicy {
    /// The policy as it is now.
    pub fn now(&self) -> Arc<Policy> {
        Arc::clone(&self.0.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Puts another policy in force.
    pub fn replace(&self, policy: Policy) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(policy);
    }
}

impl From<Policy> for SharedPolicy {
    fn from(policy: Policy) -> Self {
        Self(Arc::new(RwLock::new(Arc::new(policy))))
    }
}
