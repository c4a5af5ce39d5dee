//! What libraries keep for a stream, such as a handle with its kernels: it goes before the stream does.

use std::any::Any;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

/// Values of different types, one of each; on the stream of a thread one for each thread.
#[derive(Default)]
pub(super) struct Kept(Mutex<Vec<One>>);

struct One {
    /// Whose it is; nobody's, which no thread is, where it is everyone's.
    thread: Weak<()>,
    value: Arc<dyn Any + Send + Sync>,
}

thread_local! {
    /// Is there as long as the thread.
    static THREAD: Arc<()> = Arc::new(());
}

/// What tells the calling thread from others, and whether it is still there.
pub(crate) fn this_thread() -> Weak<()> {
    THREAD.try_with(Arc::downgrade).unwrap_or_default()
}

impl fmt::Debug for Kept {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Kept").finish_non_exhaustive()
    }
}

impl Kept {
    /// The value of a type that `thread` has; it is made if there is none.
    pub(super) fn get<T: Any + Send + Sync, E>(
        &self,
        thread: &Weak<()>,
        make: impl FnOnce() -> Result<T, E>,
    ) -> Result<Arc<T>, E> {
        let mut all = self.lock();
        let own = all.iter().filter(|one| one.thread.ptr_eq(thread));
        let mut found = own.filter_map(|one| one.value.clone().downcast().ok());
        if let Some(value) = found.next() {
            return Ok(value);
        }
        drop(found);
        let (value, thread) = (Arc::new(make()?), thread.clone());
        all.push(One {
            thread,
            value: value.clone(),
        });
        Ok(value)
    }

    /// Lets go of all of it.
    pub(super) fn clear(&self) {
        let all = std::mem::take(&mut *self.lock());
        drop(all);
    }

    fn lock(&self) -> MutexGuard<'_, Vec<One>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn get<T: Any + Send + Sync>(kept: &Kept, thread: &Weak<()>, value: T) -> Arc<T> {
        kept.get(thread, || Ok::<_, ()>(value)).unwrap()
    }

    #[test]
    fn each_type_has_a_value_and_each_thread_too() {
        let (kept, everyone, own) = (Kept::default(), Weak::new(), this_thread());
        assert_eq!(*get(&kept, &everyone, 1u8), 1);
        assert_eq!(*get(&kept, &everyone, 2u8), 1);
        assert_eq!(*get(&kept, &everyone, 3u16), 3);
        assert_eq!(*get(&kept, &own, 4u8), 4);
        std::thread::scope(|scope| {
            let other = scope.spawn(|| *get(&kept, &this_thread(), 5u8));
            assert_eq!(other.join().unwrap(), 5);
        });
        assert_eq!(*get(&kept, &own, 6u8), 4);
    }

    #[test]
    fn what_could_not_be_made_is_made_the_next_time() {
        let (kept, everyone) = (Kept::default(), Weak::new());
        assert_eq!(kept.get(&everyone, || Err::<u8, _>("no")), Err("no"));
        assert_eq!(*get(&kept, &everyone, 7u8), 7);
    }

    #[test]
    fn what_is_cleared_is_dropped() {
        let (kept, everyone) = (Kept::default(), Weak::new());
        let value = get(&kept, &everyone, 1u8);
        kept.clear();
        assert_eq!(Arc::strong_count(&value), 1);
        assert_eq!(*get(&kept, &everyone, 2u8), 2);
    }
}
