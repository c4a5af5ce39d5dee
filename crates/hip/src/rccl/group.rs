use super::comm::{Comm, Op};
use super::link;
use super::result::{RcclError, RcclStatus};
use super::{RcclType, ReduceOp};
use crate::driver::{HipError, HipView, HipViewMut, SyncOnDrop};

pub use link::{group_end, group_start};

/// Operations that are put in together, when this ends or is dropped.
///
/// It takes views, which live as long as it: their memory is in use until then. In another group of the
/// thread the operations are put in when the outermost ends: until then the memory has to be kept.
#[derive(Debug)]
pub struct Group<'g> {
    comm: &'g Comm,
    syncs: Vec<SyncOnDrop<'g>>,
    ended: bool,
}

impl Comm {
    /// Begins a group of the thread.
    pub fn group(&self) -> Result<Group<'_>, RcclError> {
        group_start()?;
        Ok(Group {
            comm: self,
            syncs: Vec::new(),
            ended: false,
        })
    }
}

impl Drop for Group<'_> {
    fn drop(&mut self) {
        if self.ended {
            return;
        }
        if let Err(error) = group_end() {
            let told = HipError::own(error.to_string());
            self.comm.context().record_err::<()>(Err(told));
        }
    }
}

impl<'g> Group<'g> {
    /// The rank.
    pub fn comm(&self) -> &'g Comm {
        self.comm
    }

    /// Ends the group, and says how that went. Within another group nothing is put in yet.
    pub fn end(mut self) -> Result<RcclStatus, RcclError> {
        self.ended = true;
        group_end()
    }

    fn put<T: RcclType>(
        &mut self,
        op: Op,
        send: Option<HipView<'g, T>>,
        receive: Option<HipViewMut<'g, T>>,
    ) -> Result<RcclStatus, RcclError> {
        let (comm, stream) = (self.comm, &**self.comm.stream_ref());
        let lens = (
            send.as_ref().map(HipView::len),
            receive.as_ref().map(HipViewMut::len),
        );
        let mut pointers = [None, None];
        let held = [
            send.map(|view| view.view_ptr(stream)),
            receive.map(|view| view.view_ptr_mut(stream)),
        ];
        for (pointer, held) in pointers.iter_mut().zip(held) {
            if let Some((at, mut sync)) = held {
                *pointer = Some(at);
                sync.begun()?;
                self.syncs.push(sync);
            }
        }
        // SAFETY: the views say where memory is and how large, and their guards are kept.
        unsafe { comm.put::<T>(op, pointers[0].zip(lens.0), pointers[1].zip(lens.1)) }
    }

    /// [`Comm::send`].
    pub fn send<T: RcclType>(
        &mut self,
        data: HipView<'g, T>,
        peer: i32,
    ) -> Result<RcclStatus, RcclError> {
        self.put(Op::Send(peer), Some(data), None)
    }

    /// [`Comm::recv`].
    pub fn recv<T: RcclType>(
        &mut self,
        buff: HipViewMut<'g, T>,
        peer: i32,
    ) -> Result<RcclStatus, RcclError> {
        self.put(Op::Recv(peer), None, Some(buff))
    }

    /// [`Comm::broadcast`].
    pub fn broadcast<T: RcclType>(
        &mut self,
        sendbuff: Option<HipView<'g, T>>,
        recvbuff: HipViewMut<'g, T>,
        root: i32,
    ) -> Result<RcclStatus, RcclError> {
        self.put(Op::Broadcast(root), sendbuff, Some(recvbuff))
    }

    /// [`Comm::broadcast_in_place`].
    pub fn broadcast_in_place<T: RcclType>(
        &mut self,
        buff: HipViewMut<'g, T>,
        root: i32,
    ) -> Result<RcclStatus, RcclError> {
        self.put(Op::Broadcast(root), None, Some(buff))
    }

    /// [`Comm::all_gather`].
    pub fn all_gather<T: RcclType>(
        &mut self,
        sendbuff: HipView<'g, T>,
        recvbuff: HipViewMut<'g, T>,
    ) -> Result<RcclStatus, RcclError> {
        self.put(Op::AllGather, Some(sendbuff), Some(recvbuff))
    }

    /// [`Comm::all_reduce`].
    pub fn all_reduce<T: RcclType>(
        &mut self,
        sendbuff: HipView<'g, T>,
        recvbuff: HipViewMut<'g, T>,
        op: &ReduceOp,
    ) -> Result<RcclStatus, RcclError> {
        self.put(Op::AllReduce(*op), Some(sendbuff), Some(recvbuff))
    }

    /// [`Comm::all_reduce_in_place`].
    pub fn all_reduce_in_place<T: RcclType>(
        &mut self,
        buff: HipViewMut<'g, T>,
        op: &ReduceOp,
    ) -> Result<RcclStatus, RcclError> {
        self.put(Op::AllReduce(*op), None, Some(buff))
    }

    /// [`Comm::reduce`].
    pub fn reduce<T: RcclType>(
        &mut self,
        sendbuff: HipView<'g, T>,
        recvbuff: Option<HipViewMut<'g, T>>,
        op: &ReduceOp,
        root: i32,
    ) -> Result<RcclStatus, RcclError> {
        self.put(Op::Reduce(*op, root), Some(sendbuff), recvbuff)
    }

    /// [`Comm::reduce_in_place`].
    pub fn reduce_in_place<T: RcclType>(
        &mut self,
        buff: HipViewMut<'g, T>,
        op: &ReduceOp,
        root: i32,
    ) -> Result<RcclStatus, RcclError> {
        self.put(Op::Reduce(*op, root), None, Some(buff))
    }

    /// [`Comm::reduce_scatter`].
    pub fn reduce_scatter<T: RcclType>(
        &mut self,
        sendbuff: HipView<'g, T>,
        recvbuff: HipViewMut<'g, T>,
        op: &ReduceOp,
    ) -> Result<RcclStatus, RcclError> {
        self.put(Op::ReduceScatter(*op), Some(sendbuff), Some(recvbuff))
    }
}
