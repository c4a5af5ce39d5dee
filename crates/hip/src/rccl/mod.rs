//! Collective operations of several devices, in one process or many, with RCCL.
//!
//! [`Comm`] is one rank of several, on a stream of its device. All ranks have to do the same in the same
//! order. RCCL waits for a rank that does not come for as long as it takes; here a [time
//! limit](time_limit) ends that.

mod comm;
mod group;
mod link;
mod op;
pub mod result;
pub mod sys;

pub use comm::{Comm, Id};
pub use group::{group_end, group_start, Group};
pub use link::time_limit;
pub use op::{RcclType, ReduceOp};

/// The types that own their handles.
pub mod safe {
    pub use super::{group_end, group_start, Comm, Group, Id, RcclType, ReduceOp};
}
