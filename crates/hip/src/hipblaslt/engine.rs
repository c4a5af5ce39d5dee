//! What hipBLASLt needs beside each handle of rocBLAS: a handle of its own, and plans.

use super::choice::{Choice, CHOICE};
use super::kernels;
use super::plan::Plan;
use super::result::{create_handle, destroy_handle, HipblasltError};
use super::shape::Shape;
use super::sys::{hipblasLtHandle_t, hipblasLtMatmul, hipblasStatus_t};
use crate::driver::{result::device::get_arch_name, DevicePtrMut, HipError, HipSlice, HipStream};
use crate::loader::HIPBLASLT;
use crate::rocblas::result::RocblasError;
use crate::rocblas::sys::{
    rocblas_get_pointer_mode, rocblas_get_stream, rocblas_handle, rocblas_pointer_mode,
};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ffi::c_void;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

/// How many shapes are known at a time: a model that writes has another one with each token.
const MOST: usize = 1024;

/// How many lines are said at most.
const LINES: usize = 64;

/// Beside which handles of rocBLAS there is something.
static ENGINES: RwLock<BTreeMap<usize, Arc<Engine>>> = RwLock::new(BTreeMap::new());

/// A product that hipBLASLt may take: scalars are single precision, and where rocBLAS's handle says.
pub(crate) struct Product {
    pub(crate) shape: Shape,
    pub(crate) alpha: *const c_void,
    pub(crate) a: *const c_void,
    pub(crate) b: *const c_void,
    pub(crate) beta: *const c_void,
    pub(crate) c: *mut c_void,
}

#[derive(Debug)]
struct Engine {
    stream: Arc<HipStream>,
    choice: Choice,
    taken: AtomicUsize,
    /// As rocBLAS's handle it is one thread's; memory of its kernels is shared as that of rocBLAS's is.
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    arch: Option<String>,
    handle: Handle,
    /// `None` for shapes that rocBLAS takes.
    plans: HashMap<Shape, Option<Arc<Plan>>>,
    /// Whether a graph may use the memory of the handle.
    captured: bool,
}

#[derive(Debug, Default)]
enum Handle {
    #[default]
    Untried,
    Made(hipblasLtHandle_t),
    Missing,
}

// SAFETY: hipBLASLt's handles and descriptions can be used from any thread, by one at a time.
unsafe impl Send for State {}

/// Lets products with a handle of rocBLAS go to hipBLASLt from now on, where the choice says so.
pub(crate) fn attach(handle: rocblas_handle, stream: &Arc<HipStream>, choice: Choice) {
    if choice == Choice::Rocblas {
        return;
    }
    let engine = Arc::new(Engine {
        stream: stream.clone(),
        choice,
        taken: AtomicUsize::new(0),
        state: Mutex::default(),
    });
    let mut engines = ENGINES.write().unwrap_or_else(PoisonError::into_inner);
    let before = engines.insert(handle as usize, engine);
    drop(engines);
    drop(before);
}

/// Has to be called before a handle of rocBLAS is destroyed.
pub(crate) fn detach(handle: rocblas_handle) {
    let mut engines = ENGINES.write().unwrap_or_else(PoisonError::into_inner);
    let before = engines.remove(&(handle as usize));
    drop(engines);
    drop(before);
}

/// How many products with a handle hipBLASLt has taken.
pub(crate) fn taken(handle: rocblas_handle) -> usize {
    engine(handle).map_or(0, |engine| engine.taken.load(Ordering::Relaxed))
}

/// Puts a product into the stream of a handle; `None` leaves it to rocBLAS.
///
/// # Safety
///
/// As for [`sgemm`](crate::rocblas::result::sgemm).
pub(crate) unsafe fn take(
    handle: rocblas_handle,
    product: impl FnOnce() -> Option<Product>,
) -> Option<Result<(), RocblasError>> {
    engine(handle)?.take(handle, &product()?)
}

fn engine(handle: rocblas_handle) -> Option<Arc<Engine>> {
    let engines = ENGINES.read().unwrap_or_else(PoisonError::into_inner);
    engines.get(&(handle as usize)).cloned()
}

impl Engine {
    unsafe fn take(
        &self,
        handle: rocblas_handle,
        product: &Product,
    ) -> Option<Result<(), RocblasError>> {
        let shape = product.shape.along_k();
        if !shape.is_plain() {
            return None;
        }
        let mut state = self.lock();
        if !self.choice.takes(state.arch(self)?, &shape) || !self.is_as_made(handle) {
            return None;
        }
        let _bound = self.stream.context().bound();
        let handle = state.handle(self)?;
        let plan = state.plan(handle, &shape)?;
        let mut workspace = match plan.workspace {
            0 => None,
            bytes => Some(self.workspace(bytes)?),
        };
        let (at, guard) = match &mut workspace {
            None => (0, None),
            Some(memory) => {
                let (at, mut guard) = memory.device_ptr_mut(&self.stream);
                self.waits(guard.begun())?;
                (at, Some(guard))
            }
        };
        let done = hipblasLtMatmul(
            handle,
            plan.desc.handle(),
            product.alpha,
            product.a,
            plan.a.handle(),
            product.b,
            plan.b.handle(),
            product.beta,
            product.c,
            plan.c.handle(),
            product.c,
            plan.c.handle(),
            &plan.algo,
            at as *mut c_void,
            plan.workspace,
            self.stream.hip_stream(),
        );
        drop(guard);
        state.captured |= self.stream.is_captured();
        match done.result() {
            Ok(()) => {
                self.taken.fetch_add(1, Ordering::Relaxed);
                Some(Ok(()))
            }
            // What it may have written rocBLAS writes anew.
            Err(error) if *product.beta.cast::<f32>() == 0. => {
                say(format!("{error} for {shape}: rocBLAS does it"));
                state.plans.insert(shape, None);
                None
            }
            Err(error) => Some(Err(error.into())),
        }
    }

    /// Whether the stream of a handle is the one that it was made with, and scalars are on the host.
    unsafe fn is_as_made(&self, handle: rocblas_handle) -> bool {
        let mut stream = std::ptr::null_mut();
        let mut mode = rocblas_pointer_mode::rocblas_pointer_mode_device;
        rocblas_get_stream(handle, &mut stream).result().is_ok()
            && rocblas_get_pointer_mode(handle, &mut mode).result().is_ok()
            && stream == self.stream.hip_stream()
            && mode == rocblas_pointer_mode::rocblas_pointer_mode_host
    }

    /// The workspace; none where it cannot be had, which is said, or where an error waits, which waits on.
    fn workspace(&self, bytes: usize) -> Option<HipSlice<u8>> {
        self.waits(self.stream.context().bind_to_thread())?;
        // SAFETY: the product alone uses it, and writes what it reads.
        match unsafe { self.stream.alloc(bytes) } {
            Ok(workspace) => Some(workspace),
            Err(error) => {
                say(format!(
                    "{error} for hipBLASLt's workspace: rocBLAS does without"
                ));
                None
            }
        }
    }

    /// Keeps an error for who is told the next one, and leaves the product to rocBLAS.
    fn waits(&self, result: Result<(), HipError>) -> Option<()> {
        let good = result.is_ok();
        self.stream.context().record_err(result);
        good.then_some(())
    }

    /// The architecture of the device, without features of the target; none where HIP does not say it.
    fn arch(&self) -> Option<String> {
        let name = get_arch_name(self.stream.context().hip_device()).ok()?;
        name.split(':').next().map(str::to_string)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        let underway = self.stream.captures_are_underway();
        let mut state = self.lock();
        state.plans.clear();
        // The memory of the handle is a graph's as long as that may run, and captures forbid to free it.
        if let (Handle::Made(handle), false) = (&state.handle, state.captured || underway) {
            let _bound = self.stream.context().bound();
            // SAFETY: the handle is alive and not used again. There is nobody to tell an error to.
            let _ = unsafe { destroy_handle(*handle) };
        }
    }
}

impl State {
    /// The architecture of the device; none where HIP does not say it.
    fn arch(&mut self, engine: &Engine) -> Option<&str> {
        if self.arch.is_none() && engine.choice == Choice::Auto {
            self.arch = Some(engine.arch()?);
        }
        Some(self.arch.as_deref().unwrap_or_default())
    }

    /// The handle. Where there is none yet it is made, unless work is captured: hipBLASLt allocates memory.
    fn handle(&mut self, engine: &Engine) -> Option<hipblasLtHandle_t> {
        match self.handle {
            Handle::Made(handle) => return Some(handle),
            Handle::Missing => return None,
            Handle::Untried if engine.stream.captures_are_underway() => return None,
            Handle::Untried => {}
        }
        // Where HIP does not say it, there is nothing to look for.
        let arch = self
            .arch
            .clone()
            .or_else(|| engine.arch())
            .unwrap_or_default();
        if !HIPBLASLT.is_absent() && !kernels::are_there_for(&arch) {
            if engine.choice == Choice::Hipblaslt {
                say(format!(
                    "hipBLASLt has no kernels for {arch}; rocBLAS does all products"
                ));
            }
            self.handle = Handle::Missing;
            return None;
        }
        let made = create_handle().or_else(|error| match error {
            // It allocates by itself, and this crate's allocator may hold what there is.
            HipblasltError(hipblasStatus_t::HIPBLAS_STATUS_ALLOC_FAILED) => {
                let context = engine.stream.context();
                let emptied = context.empty_cache();
                context.record_err(emptied);
                create_handle()
            }
            _ => Err(error),
        });
        match made {
            Ok(handle) => {
                self.handle = Handle::Made(handle);
                Some(handle)
            }
            Err(error) => {
                self.handle = Handle::Missing;
                if engine.choice == Choice::Hipblaslt || !HIPBLASLT.is_absent() {
                    say(format!("{error}; rocBLAS does all products"));
                }
                None
            }
        }
    }

    /// The plan for a shape; none where there is no solution, which is said.
    ///
    /// # Safety
    ///
    /// The handle has to be alive.
    unsafe fn plan(&mut self, handle: hipblasLtHandle_t, shape: &Shape) -> Option<Arc<Plan>> {
        if let Some(known) = self.plans.get(shape) {
            return known.clone();
        }
        if self.plans.len() >= MOST {
            self.plans.clear();
        }
        let plan = match Plan::new(handle, shape) {
            Ok(plan) => {
                if plan.is_none() {
                    say(format!(
                        "hipBLASLt has no solution for {shape}: rocBLAS does it"
                    ));
                }
                plan.map(Arc::new)
            }
            Err(error) => {
                say(format!("{error} for {shape}: rocBLAS does it"));
                None
            }
        };
        self.plans.insert(*shape, plan.clone());
        plan
    }
}

/// Says a line to whoever runs the program, once.
fn say(line: String) {
    static SAID: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());
    let mut said = SAID.lock().unwrap_or_else(PoisonError::into_inner);
    if said.len() < LINES && !said.contains(&line) {
        eprintln!("hiprc: {line} ({CHOICE}=rocblas asks for nothing else)");
        said.insert(line);
    }
}
