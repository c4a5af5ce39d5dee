use super::handle::Own;
use super::result::{self, Described, MiopenError};
use super::sys::{miopenConvFwdAlgorithm_t, miopenConvSolution_t, miopenStatus_t};
use std::collections::HashMap;
use std::ffi::c_int;

/// What MIOpen was asked for: everything that a solution depends on.
pub(super) type Problem = Vec<c_int>;

/// The solutions that MIOpen has named, since it takes longer to name them than to use them.
#[derive(Default)]
pub(super) struct Chosen(HashMap<Problem, Vec<miopenConvSolution_t>>);

/// Whether the solutions of a convolution are measured when it is first computed: where
/// `HIPRC_MIOPEN_SEARCH` is set, and not to 0.
///
/// That takes seconds for each, and MIOpen keeps the outcome in the user's find-db for the programs
/// that come after.
pub fn searches() -> bool {
    is_asked(std::env::var("HIPRC_MIOPEN_SEARCH").ok().as_deref())
}

fn is_asked(said: Option<&str>) -> bool {
    said.is_some_and(|said| !matches!(said.trim(), "" | "0"))
}

impl Own {
    /// Whether a problem's solutions are known.
    pub(super) fn knows(&self, problem: &Problem) -> bool {
        self.chosen.0.contains_key(problem)
    }

    /// The fastest solution of a problem, or the fastest by an algorithm.
    ///
    /// # Safety
    ///
    /// What it is described by has to be alive.
    pub(super) unsafe fn solution(
        &mut self,
        problem: Problem,
        of: Described,
        algorithm: Option<miopenConvFwdAlgorithm_t>,
    ) -> Result<miopenConvSolution_t, MiopenError> {
        if !self.knows(&problem) {
            let found = result::convolution_forward_solutions(self.at, of)?;
            self.chosen.0.insert(problem.clone(), found);
        }
        let mut solutions = self.chosen.0[&problem].iter();
        let wanted = solutions.find(|one| match algorithm {
            Some(wanted) => wanted == one.algorithm,
            None => true,
        });
        wanted
            .copied()
            .ok_or(MiopenError(miopenStatus_t::NO_SOLUTION))
    }
}

#[cfg(test)]
mod tests {
    use super::is_asked;

    #[test]
    fn a_search_is_asked_for_by_anything_but_zero() {
        for (said, asked) in [
            (None, false),
            (Some(""), false),
            (Some(" 0 "), false),
            (Some("1"), true),
            (Some("yes"), true),
        ] {
            assert_eq!(is_asked(said), asked, "{said:?}");
        }
    }
}
