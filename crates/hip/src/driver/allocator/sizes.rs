//! How large blocks and segments are.

use std::cmp::max;

const KIB: usize = 1 << 10;
const MIB: usize = 1 << 20;

/// Every address is a multiple of this. HIP promises 256 for an allocation.
pub(super) const ALIGN: usize = 512;

/// What is larger does not share segments with what is not: small blocks that stay would keep large
/// ones from growing together.
const SMALL: usize = MIB;

/// The segments that hold small blocks.
const SMALL_SEGMENT: usize = 2 * MIB;

/// The segments that hold blocks of medium size.
const MEDIUM_SEGMENT: usize = 20 * MIB;

/// What is larger has a segment of its own.
const MEDIUM: usize = 10 * MIB;

/// Sizes of segments are multiples of this, the size of a large page on AMD GPUs.
const PAGE: usize = 2 * MIB;

/// Which segments a block comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Class {
    Small,
    Large,
}

impl Class {
    /// The class of a rounded size.
    pub(super) fn of(bytes: usize) -> Self {
        if bytes <= SMALL {
            Self::Small
        } else {
            Self::Large
        }
    }

    /// Whether what is left of a block is worth being one.
    pub(super) fn splits(self, rest: usize) -> bool {
        match self {
            Self::Small => rest >= ALIGN,
            Self::Large => rest > SMALL,
        }
    }
}

/// The size of the block for so many bytes; `None` if an address cannot reach that far.
///
/// Above a mebibyte there are eight sizes between a power of two and the next, at most two
/// mebibytes apart, so that a size that grows a little finds the block that it had.
pub(super) fn rounded(bytes: usize) -> Option<usize> {
    let step = if bytes <= SMALL {
        ALIGN
    } else {
        max(128 * KIB, (1 << bytes.ilog2()) / 8).min(PAGE)
    };
    max(bytes, 1).checked_next_multiple_of(step)
}

/// The sizes of a segment for a block, the first if it can be had.
pub(super) fn segments(bytes: usize) -> [usize; 2] {
    let least = bytes.checked_next_multiple_of(PAGE).unwrap_or(bytes);
    match bytes {
        _ if bytes <= SMALL => [SMALL_SEGMENT; 2],
        _ if bytes < MEDIUM => [MEDIUM_SEGMENT, least],
        _ => [least; 2],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_size_is_rounded_up_by_little() {
        assert_eq!(rounded(0), Some(512));
        assert_eq!(rounded(1), Some(512));
        assert_eq!(rounded(513), Some(1024));
        assert_eq!(rounded(MIB), Some(MIB));
        assert_eq!(rounded(MIB + 1), Some(MIB + 128 * KIB));
        assert_eq!(rounded(3 * MIB + 1), Some(3 * MIB + 256 * KIB));
        assert_eq!(rounded(100 * MIB + 1), Some(102 * MIB));
        assert_eq!(rounded(usize::MAX), None);
        for bytes in (0..64 * MIB).step_by(77_777) {
            let block = rounded(bytes).unwrap();
            assert!(block >= bytes && block % ALIGN == 0, "{bytes}");
            assert!(block - bytes <= max(ALIGN, bytes / 8), "{bytes}");
            assert_eq!(rounded(block), Some(block), "{bytes}");
        }
    }

    #[test]
    fn a_segment_holds_its_block() {
        for bytes in [1, 512, MIB, MIB + 1, 9 * MIB, 10 * MIB, 33 * MIB + 1] {
            let block = rounded(bytes).unwrap();
            let [first, least] = segments(block);
            assert!(first >= least && least >= block, "{bytes}");
            assert_eq!(least % PAGE, 0, "{bytes}");
        }
    }
}
