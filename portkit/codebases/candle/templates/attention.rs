//! Attention without the scores in memory, by the kernels of the module `attention`: what `sdpa` of
//! candle-nn and the crate candle-flash-attn launch.

use super::{kernel_name, kernels, RocmDevice, WrapErr};
use crate::{Result, WithDType};
use candle_hip::driver::{
    sys, DevicePtr, DeviceRepr, HipSlice, HipStream, HipView, LaunchConfig, PushKernelArg,
    SyncOnDrop, ValidAsZeroBits,
};

/// With as many queries or fewer, the keys are shared out among blocks.
pub const FEW: usize = 8;
/// The widest heads that the kernels take.
pub const WIDEST: usize = 512;
/// Wider heads take the kernels for few queries, whatever there are.
const WIDE: usize = 256;
/// The keys that a block looks at together, and the rows of many queries.
const TILE: usize = 64;
/// The most blocks in the second dimension of a grid.
const MOST_BLOCKS: usize = 65535;
/// So many keys before or behind a query's own are all.
const ALL: usize = 1 << 30;

/// Memory from a tensor's first element on, with its strides in elements: batch, head, row. Those of
/// the last dimension are 1.
pub type Rows<'a, T> = (HipView<'a, T>, [usize; 3]);

/// What there is of everything.
pub struct Sizes {
    pub batches: usize,
    pub heads: usize,
    /// A divisor of `heads`.
    pub kv_heads: usize,
    /// Of each sequence, or of all of them where they have ends.
    pub queries: usize,
    /// The same; with pages, what a sequence may have at most.
    pub keys: usize,
    /// Elements of a head of q and k, a multiple of 8 up to `WIDEST`.
    pub width: usize,
    /// The same of v.
    pub v_width: usize,
}

/// What only some calls have.
#[derive(Default)]
pub struct Besides<'a> {
    /// ALiBi's slope for each head.
    pub slopes: Option<HipView<'a, f32>>,
    /// Where the queries of each sequence end, and its keys, with a zero before them.
    pub ends: Option<(HipView<'a, u32>, HipView<'a, u32>)>,
    /// The most queries and keys of a sequence that has ends.
    pub longest: (usize, usize),
    /// A table of the pages of each sequence, how many it lists for one, and the keys of a page.
    pub pages: Option<(HipView<'a, i32>, usize, usize)>,
    /// Ranges of places that see each other whatever the window, and how many each sequence has.
    pub ranges: Option<(HipView<'a, i32>, usize)>,
}

/// softmax(q kᵀ · scale) v.
pub struct Attention<'a, T> {
    pub q: Rows<'a, T>,
    /// With pages, those are the batches.
    pub k: Rows<'a, T>,
    pub v: Rows<'a, T>,
    pub sizes: Sizes,
    /// In rows: batch, head, query.
    pub out_stride: [usize; 3],
    pub scale: f32,
    /// A score becomes cap · tanh(score / cap).
    pub cap: Option<f32>,
    /// How many keys before its own a query sees; the last query's own is the last key.
    pub before: Option<usize>,
    pub behind: Option<usize>,
    /// What is added, with its strides; not together with anything besides.
    pub mask: Option<(HipView<'a, T>, [usize; 4])>,
    pub besides: Besides<'a>,
    /// What a row is that sees no key: zeros, or NaN as softmax of it is.
    pub unseeing_is_zero: bool,
}

/// What a launch is about, as the kernels have it.
#[repr(C)]
struct Launch {
    q_stride: [i64; 3],
    k_stride: [i64; 3],
    v_stride: [i64; 3],
    mask_stride: [i64; 4],
    out_stride: [i32; 3],
    rows: i32,
    batches: i32,
    heads: i32,
    shared_by: i32,
    queries: i32,
    keys: i32,
    width: i32,
    v_width: i32,
    keys_each: i32,
    parts: i32,
    before: i32,
    behind: i32,
    page: i32,
    pages: i32,
    ranges: i32,
    unseeing: i32,
    scale: f32,
    cap: f32,
}

// SAFETY: plain numbers, laid out as in C.
unsafe impl DeviceRepr for Launch {}

impl<T: WithDType + DeviceRepr + ValidAsZeroBits> Attention<'_, T> {
    /// Return the output, which is contiguous.
    pub fn launch(&self, dev: &RocmDevice) -> Result<HipSlice<T>> {
        let Sizes {
            batches,
            heads,
            kv_heads,
            queries,
            keys,
            width,
            v_width,
        } = self.sizes;
        let also = &self.besides;
        let ended = also.ends.is_some();
        let more = ended || also.slopes.is_some() || also.ranges.is_some();
        let (longest, most_keys) = if ended { also.longest } else { (queries, keys) };
        let all_rows = if ended { 1 } else { batches } * heads * queries;
        // What no sequence has stays zero.
        // SAFETY: else the kernels write all of it.
        let out = match ended {
            true => dev.alloc_zeros::<T>(all_rows * v_width)?,
            false => unsafe { dev.alloc::<T>(all_rows * v_width)? },
        };
        if all_rows == 0 || longest == 0 {
            return Ok(out);
        }
        // The rows of the scores that read the same keys.
        let shared_by = heads / kv_heads;
        let rows = longest * shared_by;
        let wide = width.max(v_width) > WIDE;
        // As many blocks as keep the GPU busy, each with two tiles of keys at least.
        let rows_each = rows.next_power_of_two().min(if wide { 4 } else { 8 });
        let attribute = sys::hipDeviceAttribute_t::hipDeviceAttributeMultiprocessorCount;
        let stream = dev.rocm_stream();
        let units = stream.context().attribute(attribute).w()? as usize;
        let blocks = batches * kv_heads * rows.div_ceil(rows_each);
        let tiles = most_keys.div_ceil(TILE).max(1);
        let parts = (4 * units).div_ceil(blocks).min(tiles / 2).max(1);
        let tiles_each = tiles.div_ceil(parts);
        let parts = tiles.div_ceil(tiles_each);

        let (page, pages) = also.pages.as_ref().map_or((0, 0), |&(_, n, page)| (page, n));
        let mask = self.mask.as_ref();
        let about = Launch {
            q_stride: self.q.1.map(|x| x as i64),
            k_stride: self.k.1.map(|x| x as i64),
            v_stride: self.v.1.map(|x| x as i64),
            mask_stride: mask.map_or([0; 4], |(_, stride)| stride.map(|x| x as i64)),
            out_stride: self.out_stride.map(|x| x as i32),
            rows: all_rows as i32,
            batches: batches as i32,
            heads: heads as i32,
            shared_by: shared_by as i32,
            queries: queries as i32,
            keys: keys as i32,
            width: width as i32,
            v_width: v_width as i32,
            keys_each: (tiles_each * TILE) as i32,
            parts: parts as i32,
            before: self.before.unwrap_or(ALL).min(ALL) as i32,
            behind: self.behind.unwrap_or(ALL).min(ALL) as i32,
            page: page as i32,
            pages: pages as i32,
            ranges: also.ranges.as_ref().map_or(0, |&(_, n)| n as i32),
            unseeing: self.unseeing_is_zero.into(),
            scale: self.scale,
            cap: self.cap.unwrap_or(0.0),
        };
        let (slopes, _slopes) = address(also.slopes.as_ref(), &stream);
        let (q_ends, _q_ends) = address(also.ends.as_ref().map(|(q, _)| q), &stream);
        let (k_ends, _k_ends) = address(also.ends.as_ref().map(|(_, k)| k), &stream);
        let (table, _table) = address(also.pages.as_ref().map(|(table, ..)| table), &stream);
        let (ranges, _ranges) = address(also.ranges.as_ref().map(|(ranges, _)| ranges), &stream);
        let besides = [slopes, q_ends, k_ends, table, ranges];

        let few = longest <= FEW || wide;
        let name = match (more, few, rows_each) {
            (false, true, 1) => kernel_name::<T>("sdpa_decode1"),
            (false, true, 2) => kernel_name::<T>("sdpa_decode2"),
            (false, true, 4) => kernel_name::<T>("sdpa_decode4"),
            (false, true, _) => kernel_name::<T>("sdpa_decode8"),
            (false, false, _) => kernel_name::<T>("sdpa_prefill"),
            (true, true, 1) => kernel_name::<T>("flash_decode1"),
            (true, true, 2) => kernel_name::<T>("flash_decode2"),
            (true, true, 4) => kernel_name::<T>("flash_decode4"),
            (true, true, _) => kernel_name::<T>("flash_decode8"),
            (true, false, _) => kernel_name::<T>("flash_prefill"),
        };
        let func = dev.get_or_load_func(&name, &kernels::ATTENTION)?;
        let config = |x: usize, y: usize| LaunchConfig {
            grid_dim: (x as u32, y as u32, 1),
            block_dim: (256, 1, 1),
            shared_mem_bytes: 0,
        };
        let null = 0usize;
        let mut builder = func.builder();
        builder.arg(&self.q.0);
        builder.arg(&self.k.0);
        builder.arg(&self.v.0);
        if !more {
            match mask {
                Some((mask, _)) => builder.arg(mask),
                None => builder.arg(&null),
            };
        }
        builder.arg(&out);
        let unfinished = match few && parts > 1 {
            true => all_rows * parts * (v_width + 2),
            false => 0,
        };
        // SAFETY: written by the first kernel, read by the second.
        let through = match ended {
            true => dev.alloc_zeros::<f32>(unfinished)?,
            false => unsafe { dev.alloc::<f32>(unfinished)? },
        };
        if few {
            builder.arg(&through);
        }
        if more {
            builder.arg(&besides);
        }
        builder.arg(&about);
        let grid = match few {
            true => config(batches * kv_heads * parts, rows.div_ceil(rows_each)),
            // Each sequence begins a tile of its own.
            false if ended => config(kv_heads * (queries * shared_by / TILE + batches), 1),
            false => config(kv_heads * batches * rows.div_ceil(TILE), 1),
        };
        if grid.grid_dim.1 as usize > MOST_BLOCKS {
            crate::bail!("attention takes fewer queries with heads of more than {WIDE} elements")
        }
        // SAFETY: ffi.
        unsafe { builder.launch(grid) }.w()?;
        if few && parts > 1 {
            let func =
                dev.get_or_load_func(&kernel_name::<T>("sdpa_combine"), &kernels::ATTENTION)?;
            let mut builder = func.builder();
            builder.arg(&through);
            builder.arg(&out);
            builder.arg(&about);
            // SAFETY: ffi.
            unsafe { builder.launch(config(all_rows, 1)) }.w()?;
        }
        Ok(out)
    }
}

/// The address of what a call may lack, and what keeps it for the stream until the launch.
fn address<'a, T>(
    view: Option<&'a HipView<'_, T>>,
    stream: &'a HipStream,
) -> (u64, Option<SyncOnDrop<'a>>) {
    match view.map(|view| view.device_ptr(stream)) {
        Some((address, guard)) => (address, Some(guard)),
        None => (0, None),
    }
}
