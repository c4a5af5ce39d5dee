use super::link::{self, Link};
use super::result::{self, RcclError, RcclStatus};
use super::sys::{self, ncclResult_t};
use super::{RcclType, ReduceOp};
use crate::driver::sys::hipDeviceptr_t;
use crate::driver::{DevicePtr, DevicePtrMut, HipContext, HipSlice, HipStream};
use std::cell::Cell;
use std::ffi::{c_char, c_int};
use std::marker::PhantomData;
use std::sync::{mpsc, Arc};

/// One rank of several that work together, on a stream of its device.
///
/// Each operation is put into that stream, after what else uses its memory; the memory may be of any
/// stream. All ranks have to put in the same operations in the same order. A rank that does not come, or
/// does something else, is an error within the [time limit](super::time_limit). Dropping a rank waits for
/// what it has put in.
#[derive(Debug)]
pub struct Comm {
    link: Arc<Link>,
    rank: usize,
    world_size: usize,
    /// One thread at a time may use it.
    not_sync: PhantomData<Cell<()>>,
}

/// What the ranks know each other by: one makes it, and hands it to the others.
#[derive(Clone, Copy, Debug)]
pub struct Id {
    id: sys::ncclUniqueId,
}

impl Id {
    /// Makes a new one.
    pub fn new() -> Result<Self, RcclError> {
        result::get_uniqueid().map(|id| Self { id })
    }

    /// The one that was made elsewhere, of its bytes.
    pub fn uninit(internal: [c_char; 128]) -> Self {
        let id = sys::ncclUniqueId { internal };
        Self { id }
    }

    /// Its bytes, for another rank.
    pub fn internal(&self) -> &[c_char; 128] {
        &self.id.internal
    }
}

/// An operation, and which rank or operation it names.
#[derive(Clone, Copy, Debug)]
pub(super) enum Op {
    Send(c_int),
    Recv(c_int),
    Broadcast(c_int),
    AllGather,
    AllReduce(ReduceOp),
    Reduce(ReduceOp, c_int),
    ReduceScatter(ReduceOp),
}

/// Memory: its address, and how many values there are.
pub(super) type Part = Option<(hipDeviceptr_t, usize)>;

const INVALID: RcclError = RcclError(ncclResult_t::ncclInvalidArgument);

impl Drop for Comm {
    fn drop(&mut self) {
        self.link.leave();
    }
}

/// The handle of a rank, on its way from one thread to another.
struct Made(sys::ncclComm_t);

// SAFETY: a communicator may be handed to another thread.
unsafe impl Send for Made {}

impl Comm {
    /// Makes a rank on each of several streams, of one device each, in this process.
    pub fn from_devices(streams: Vec<Arc<HipStream>>) -> Result<Vec<Self>, RcclError> {
        let limit = link::time_limit()?;
        let world_size = streams.len();
        let count = c_int::try_from(world_size).map_err(|_| INVALID)?;
        let ordinals: Vec<_> = streams
            .iter()
            .map(|stream| stream.context().ordinal() as c_int)
            .collect();
        let mut comms = vec![std::ptr::null_mut(); world_size];
        // SAFETY: both lists have as many members as is said.
        unsafe { result::comm_init_all(comms.as_mut_ptr(), count, ordinals.as_ptr()) }?;
        let made = comms.into_iter().zip(streams).enumerate();
        Ok(made
            .map(|(rank, (comm, stream))| {
                Self::of(Link::new(comm, stream, limit), rank, world_size)
            })
            .collect())
    }

    /// Makes a rank on a stream, and waits for the others, which other threads or processes make.
    ///
    /// # Errors
    ///
    /// RCCL's; [`TIMED_OUT`](ncclResult_t::TIMED_OUT) where the others do not come.
    pub fn from_rank(
        stream: Arc<HipStream>,
        rank: usize,
        world_size: usize,
        id: Id,
    ) -> Result<Self, RcclError> {
        let limit = link::time_limit()?;
        let number = c_int::try_from(rank).map_err(|_| INVALID)?;
        let count = c_int::try_from(world_size).map_err(|_| INVALID)?;
        let context = stream.context().clone();
        let make = move || {
            context.bind_to_thread()?;
            let mut comm = std::ptr::null_mut();
            // SAFETY: the pointer is valid for a write.
            unsafe { result::comm_init_rank(&mut comm, count, id.id, number) }?;
            Ok(Made(comm))
        };
        let made = match limit {
            None => make(),
            Some(limit) => {
                let (tell, told) = mpsc::channel();
                std::thread::spawn(move || {
                    if let Err(mpsc::SendError(Ok(Made(comm)))) = tell.send(make()) {
                        // SAFETY: nobody waits for it any more, so nobody else has it.
                        let _ = unsafe { result::comm_abort(comm) };
                    }
                });
                told.recv_timeout(limit)
                    .unwrap_or(Err(RcclError(ncclResult_t::TIMED_OUT)))
            }
        };
        Ok(Self::of(
            Link::new(made?.0, stream, limit),
            rank,
            world_size,
        ))
    }

    fn of(link: Arc<Link>, rank: usize, world_size: usize) -> Self {
        Self {
            link,
            rank,
            world_size,
            not_sync: PhantomData,
        }
    }

    /// The stream that work is put into.
    pub fn stream(&self) -> Arc<HipStream> {
        self.link.stream().clone()
    }

    pub(super) fn stream_ref(&self) -> &Arc<HipStream> {
        self.link.stream()
    }

    /// The device.
    pub fn context(&self) -> &Arc<HipContext> {
        self.link.stream().context()
    }

    /// The number of the device.
    pub fn ordinal(&self) -> usize {
        self.context().ordinal()
    }

    /// Which rank it is.
    pub fn rank(&self) -> usize {
        self.rank
    }

    /// How many ranks there are.
    pub fn world_size(&self) -> usize {
        self.world_size
    }

    /// Puts an operation into the stream. Without memory to send it is done in place.
    ///
    /// # Safety
    ///
    /// The memory has to be there until the stream has got past this.
    pub(super) unsafe fn put<T: RcclType>(
        &self,
        op: Op,
        send: Part,
        receive: Part,
    ) -> Result<RcclStatus, RcclError> {
        let world = self.world_size;
        let whole = receive.or(send).ok_or(INVALID)?;
        let own = send.unwrap_or(whole);
        // How many values an operation is about, and how many it reads and writes.
        let (count, read, written) = match op {
            Op::Send(_) | Op::AllReduce(_) | Op::Reduce(..) => (own.1, own.1, own.1),
            Op::Recv(_) | Op::Broadcast(_) => (whole.1, whole.1, whole.1),
            Op::AllGather => (own.1, own.1, own.1.checked_mul(world).ok_or(INVALID)?),
            Op::ReduceScatter(_) => {
                let all = whole.1.checked_mul(world).ok_or(INVALID)?;
                (whole.1, all, whole.1)
            }
        };
        let none = receive.is_none();
        let lacks = match op {
            Op::Send(_) => false,
            Op::Reduce(_, root) => none && usize::try_from(root) == Ok(self.rank),
            _ => none,
        };
        if lacks || own.1 < read || receive.is_some_and(|(_, len)| len < written) {
            return Err(INVALID);
        }
        let (from, to) = (
            own.0 as *const _,
            receive.map_or(0, |part| part.0) as *mut _,
        );
        let (datatype, stream) = (T::as_rccl_type(), self.link.stream().hip_stream());
        self.link.call(|comm| match op {
            Op::Send(peer) => result::send(from, count, datatype, peer, comm, stream),
            Op::Recv(peer) => result::recv(to, count, datatype, peer, comm, stream),
            Op::Broadcast(root) => result::broadcast(from, to, count, datatype, root, comm, stream),
            Op::AllGather => result::all_gather(from, to, count, datatype, comm, stream),
            Op::AllReduce(op) => {
                result::all_reduce(from, to, count, datatype, (&op).into(), comm, stream)
            }
            Op::Reduce(op, root) => {
                result::reduce(from, to, count, datatype, (&op).into(), root, comm, stream)
            }
            Op::ReduceScatter(op) => {
                result::reduce_scatter(from, to, count, datatype, (&op).into(), comm, stream)
            }
        })
    }

    fn with<T: RcclType, S: DevicePtr<T>, R: DevicePtrMut<T>>(
        &self,
        op: Op,
        send: Option<&S>,
        receive: Option<&mut R>,
    ) -> Result<RcclStatus, RcclError> {
        let stream = self.link.stream();
        let mut send = send.map(|memory| (memory.len(), memory.device_ptr(stream)));
        let mut receive = receive.map(|memory| (memory.len(), memory.device_ptr_mut(stream)));
        for (_, (_, sync)) in [send.as_mut(), receive.as_mut()].into_iter().flatten() {
            sync.begun()?;
        }
        let part = |held: &Option<(usize, (hipDeviceptr_t, _))>| {
            held.as_ref().map(|(len, (at, _))| (*at, *len))
        };
        // SAFETY: the memory is as large as it says, and its guards live until this returns.
        unsafe { self.put::<T>(op, part(&send), part(&receive)) }
    }

    /// Sends values to the rank `peer`, which receives as many.
    pub fn send<S: DevicePtr<T>, T: RcclType>(&self, data: &S, peer: i32) -> Result<(), RcclError> {
        let none = None::<&mut HipSlice<T>>;
        self.with(Op::Send(peer), Some(data), none).map(drop)
    }

    /// Receives values of the rank `peer`.
    pub fn recv<R: DevicePtrMut<T>, T: RcclType>(
        &self,
        buff: &mut R,
        peer: i32,
    ) -> Result<RcclStatus, RcclError> {
        self.with(Op::Recv(peer), None::<&HipSlice<T>>, Some(buff))
    }

    /// The values of the rank `root` for all; only that one has to send some.
    pub fn broadcast<S: DevicePtr<T>, R: DevicePtrMut<T>, T: RcclType>(
        &self,
        sendbuff: Option<&S>,
        recvbuff: &mut R,
        root: i32,
    ) -> Result<RcclStatus, RcclError> {
        self.with(Op::Broadcast(root), sendbuff, Some(recvbuff))
    }

    /// [`broadcast`](Self::broadcast) of values that are where they are received.
    pub fn broadcast_in_place<R: DevicePtrMut<T>, T: RcclType>(
        &self,
        recvbuff: &mut R,
        root: i32,
    ) -> Result<RcclStatus, RcclError> {
        self.with(Op::Broadcast(root), None::<&HipSlice<T>>, Some(recvbuff))
    }

    /// The values of each rank, one after the other, for all.
    pub fn all_gather<S: DevicePtr<T>, R: DevicePtrMut<T>, T: RcclType>(
        &self,
        sendbuff: &S,
        recvbuff: &mut R,
    ) -> Result<RcclStatus, RcclError> {
        self.with(Op::AllGather, Some(sendbuff), Some(recvbuff))
    }

    /// The values of all ranks as one, for all.
    pub fn all_reduce<S: DevicePtr<T>, R: DevicePtrMut<T>, T: RcclType>(
        &self,
        sendbuff: &S,
        recvbuff: &mut R,
        reduce_op: &ReduceOp,
    ) -> Result<RcclStatus, RcclError> {
        self.with(Op::AllReduce(*reduce_op), Some(sendbuff), Some(recvbuff))
    }

    /// [`all_reduce`](Self::all_reduce) of values that are where they are received.
    pub fn all_reduce_in_place<R: DevicePtrMut<T>, T: RcclType>(
        &self,
        buff: &mut R,
        reduce_op: &ReduceOp,
    ) -> Result<RcclStatus, RcclError> {
        self.with(Op::AllReduce(*reduce_op), None::<&HipSlice<T>>, Some(buff))
    }

    /// The values of all ranks as one, for the rank `root`; only that one has to receive some.
    pub fn reduce<S: DevicePtr<T>, R: DevicePtrMut<T>, T: RcclType>(
        &self,
        sendbuff: &S,
        recvbuff: Option<&mut R>,
        reduce_op: &ReduceOp,
        root: i32,
    ) -> Result<RcclStatus, RcclError> {
        self.with(Op::Reduce(*reduce_op, root), Some(sendbuff), recvbuff)
    }

    /// [`reduce`](Self::reduce) of values that are where they are received.
    pub fn reduce_in_place<R: DevicePtrMut<T>, T: RcclType>(
        &self,
        recvbuff: &mut R,
        reduce_op: &ReduceOp,
        root: i32,
    ) -> Result<RcclStatus, RcclError> {
        self.with(
            Op::Reduce(*reduce_op, root),
            None::<&HipSlice<T>>,
            Some(recvbuff),
        )
    }

    /// The values of all ranks as one, a part of it for each.
    pub fn reduce_scatter<S: DevicePtr<T>, R: DevicePtrMut<T>, T: RcclType>(
        &self,
        sendbuff: &S,
        recvbuff: &mut R,
        reduce_op: &ReduceOp,
    ) -> Result<RcclStatus, RcclError> {
        self.with(
            Op::ReduceScatter(*reduce_op),
            Some(sendbuff),
            Some(recvbuff),
        )
    }
}
