//! Work that several threads want at once, and that one of them does.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// What is being made, by name. Whoever wants what another makes waits for it; whoever wants
/// something else does not.
pub(super) struct Once<T>(Mutex<BTreeMap<String, Arc<OnceLock<T>>>>);

impl<T: Clone> Once<T> {
    pub(super) const fn new() -> Self {
        Self(Mutex::new(BTreeMap::new()))
    }

    /// What has a name, made by this thread or by one that makes it already. It is not kept: whoever
    /// comes later makes it again.
    pub(super) fn get(&self, name: &str, make: impl FnOnce() -> T) -> T {
        let lock = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let place = lock().entry(name.to_string()).or_default().clone();
        let made = place.get_or_init(make).clone();
        let mut all = lock();
        if all
            .get(name)
            .is_some_and(|other| Arc::ptr_eq(other, &place))
        {
            all.remove(name);
        }
        made
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::Barrier;

    #[test]
    fn one_makes_it_for_all_who_wait() {
        const WAITING: usize = 8;
        static ONCE: Once<usize> = Once::new();
        let (made, begun) = (AtomicUsize::new(0), Barrier::new(2));
        std::thread::scope(|scope| {
            let first = scope.spawn(|| {
                ONCE.get("a", || {
                    begun.wait();
                    // Until all others wait for it.
                    while Arc::strong_count(&ONCE.0.lock().unwrap()["a"]) < WAITING + 2 {
                        std::thread::yield_now();
                    }
                    made.fetch_add(1, Ordering::SeqCst) + 1
                })
            });
            begun.wait();
            let others: Vec<_> = (0..WAITING)
                .map(|_| scope.spawn(|| ONCE.get("a", || panic!("it is being made"))))
                .collect();
            // Something else goes on meanwhile.
            assert_eq!(ONCE.get("b", || 7), 7);
            assert_eq!(first.join().unwrap(), 1);
            assert!(others.into_iter().all(|other| other.join().unwrap() == 1));
        });
        assert!(ONCE.0.lock().unwrap().is_empty());
        assert_eq!(ONCE.get("a", || 9), 9, "made again");
    }

    #[test]
    fn what_panicked_is_made_by_the_next() {
        static ONCE: Once<usize> = Once::new();
        let panicked = std::thread::spawn(|| ONCE.get("a", || panic!("on purpose"))).join();
        assert!(panicked.is_err());
        assert_eq!(ONCE.get("a", || 3), 3);
        assert!(ONCE.0.lock().unwrap().is_empty());
    }
}
