//! Blocks are written one after another. The bytes of a block are written before its header, which contains their checksum.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::mpsc::sync_channel;

use sciformats_core::arith::{add, fit, increase, present, sub};
use sciformats_core::{Result, WriteAt, bound};

use super::prepared::{self, PIECE, Payload, Prepared, Source, Work, prepare};
use super::{aligned, threads};
use crate::codec::{self, Md5Sum};
use crate::document::{BlockData, Document};
use crate::parallel::{beside, in_order};
use crate::spec::block_header::BlockHeader;

/// Blocks up to this size are written in one call with their headers if possible. The writing thread computes their checksums.
const SMALL: usize = 64 << 10;

/// Blocks that are made ready before the first of them is written.
const TOGETHER: usize = 1024;

/// Writes some blocks from `at` on. Returns where each begins, and where the next block would begin.
///
/// If there are several threads, one of them writes while the others compress blocks and compute checksums.
pub(crate) fn blocks(
    document: &Document,
    range: Range<usize>,
    at: u64,
    out: &mut dyn WriteAt,
) -> Result<(Vec<u64>, u64)> {
    let padding = document.options().block_padding;
    let mut writer = Writer { document, threads: threads(document), padding, at, out, offsets: Vec::new() };
    let mut from = range.start;
    while from < range.end {
        let work = Work::of(document, from)?;
        let mut end = add(from, 1)?;
        while end < range.end && Work::of(document, end)? == work {
            increase(&mut end, 1)?;
        }
        let run = from..end;
        from = run.end;
        match work {
            Work::Nothing => writer.stored(run)?,
            Work::Whole => writer.compressed(run)?,
            Work::Parts => run.into_iter().try_for_each(|index| writer.in_parts(index))?,
        }
    }
    Ok((writer.offsets, writer.at))
}

struct Writer<'a> {
    document: &'a Document,
    threads: usize,
    /// The number of unused bytes after each block.
    padding: u64,
    at: u64,
    out: &'a mut dyn WriteAt,
    offsets: Vec<u64>,
}

impl Writer<'_> {
    /// Writes blocks whose bytes exist, some at a time.
    fn stored(&mut self, run: Range<usize>) -> Result<()> {
        let mut from = run.start;
        while from < run.end {
            let end = bound::sum(from, TOGETHER).min(run.end);
            self.stored_together(from..end)?;
            from = end;
        }
        Ok(())
    }

    /// Blocks whose bytes are there. The checksums of those in memory are computed by other threads, those of other storage while
    /// they are copied.
    fn stored_together(&mut self, run: Range<usize>) -> Result<()> {
        let prepared = run.map(|index| prepare(self.document, index, 1)).collect::<Result<Vec<_>>>()?;
        let messages: Vec<&[u8]> = prepared.iter().filter_map(summed_beside).collect();
        let threads = self.threads;
        let sum = |messages: &[&[u8]]| match messages {
            [message] => vec![codec::md5(message)],
            _ => codec::md5s(messages),
        };
        let (mut headers, sums) = beside(messages.chunks(codec::LANES).collect(), threads, sum, || {
            let mut headers = Vec::new();
            let mut blocks = &prepared[..];
            while let Some((block, rest)) = blocks.split_first() {
                let copied =
                    blocks.iter().take(codec::LANES).take_while(|block| is_summed_while_copied(block));
                if let (together @ [_, _, ..], rest) = blocks.split_at(copied.count()) {
                    self.copied_together(together)?;
                    blocks = rest;
                    continue;
                }
                let at = self.at;
                if let Some(header) = self.block(block, summed_beside(block).is_some())? {
                    headers.push((at, header));
                }
                blocks = rest;
            }
            Ok(headers)
        })?;
        for ((at, header), sum) in headers.iter_mut().zip(sums.into_iter().flatten()) {
            header.checksum = sum;
            self.header(*at, header)?;
        }
        Ok(())
    }

    /// Copies blocks from other storage, a piece of each at a time, so that their checksums are computed side by side.
    fn copied_together(&mut self, blocks: &[Prepared<'_>]) -> Result<()> {
        let mut headers = Vec::new();
        let mut copies = Vec::new();
        let mut last = self.at;
        for block in blocks {
            let mut header = block.header;
            let at = self.at;
            let start = add(at, header.size())?;
            last = add(start, block.payload.len())?;
            self.at = self.room(&mut header, last)?;
            self.offsets.push(at);
            headers.push((at, header));
            copies.push((&block.payload, start));
        }
        let sums = summed(&copies, self.threads, self.out)?;
        if self.at > last {
            self.out.set_size(self.at)?;
        }
        for ((at, header), sum) in headers.iter_mut().zip(sums) {
            header.checksum = sum;
            self.header(*at, header)?;
        }
        Ok(())
    }

    /// Writes blocks that are compressed as a whole, several at a time.
    fn compressed(&mut self, run: Range<usize>) -> Result<()> {
        let (document, threads) = (self.document, self.threads);
        let within = if run.len() > 1 { 1 } else { threads };
        let work = |index| {
            let mut prepared = prepare(document, index, within)?;
            if let Some(bytes) = summed_beside(&prepared) {
                prepared.header.checksum = codec::md5(bytes);
                prepared.needs_checksum = false;
            }
            Ok(prepared)
        };
        in_order(run.collect(), threads, work, |prepared: Result<_>| self.block(&prepared?, false).map(drop))
    }

    /// Writes a block while it is compressed.
    fn in_parts(&mut self, index: usize) -> Result<()> {
        let block = present(self.document.blocks.get(index), "block of a document")?;
        let (BlockData::New { compression, level, .. } | BlockData::Recoded { compression, level, .. }) =
            block
        else {
            return self.stored(index..add(index, 1)?);
        };
        let source = Source::of(self.document, block)?;
        let mut header = prepared::new_header(*compression, source.len());
        let start = add(self.at, header.size())?;
        let mut end = start;
        let mut sum = self.document.options().checksums.then(Md5Sum::default);
        let sink: &mut codec::Sink<'_> = &mut |part| {
            if let Some(sum) = &mut sum {
                sum.update(&part);
            }
            self.out.write_at(end, &part)?;
            increase(&mut end, part.len() as u64)
        };
        match &source {
            Source::Memory(data) if compression.has_parts() => {
                codec::encode_into(*compression, *level, data, self.threads, sink)?;
            }
            _ => {
                let mut encoder =
                    codec::Encoder::new((*compression, *level), source.len(), self.threads, sink)?;
                source.for_each_piece(|piece| encoder.push(piece, sink))?;
                encoder.finish(sink)?;
            }
        }
        header.used_size = sub(end, start)?;
        header.checksum = sum.map_or([0; 16], Md5Sum::finish);
        let at = self.at;
        self.close(&mut header, end)?;
        self.header(at, &header)
    }

    /// Writes a block that is ready. If its checksum `follows`, its header is returned instead of written.
    fn block(&mut self, prepared: &Prepared<'_>, follows: bool) -> Result<Option<BlockHeader>> {
        let mut header = prepared.header;
        let at = self.at;
        let start = add(at, header.size())?;
        let end = add(start, prepared.payload.len())?;
        if let Payload::Memory(stored) = &prepared.payload
            && stored.len() <= SMALL
            && self.padding <= SMALL as u64
        {
            if prepared.needs_checksum {
                header.checksum = codec::md5(stored);
            }
            let room = self.room(&mut header, end)?;
            let mut bytes = Vec::with_capacity(add(stored.len(), BlockHeader::SIZE)?);
            header.encode(&mut bytes);
            bytes.extend_from_slice(stored);
            bytes.resize(fit(sub(room, at)?, "bytes of a block")?, 0);
            self.out.write_at(at, &bytes)?;
            self.offsets.push(at);
            self.at = room;
            return Ok(None);
        }
        let copies = [(&prepared.payload, start)];
        if prepared.needs_checksum && !follows {
            header.checksum = summed(&copies, self.threads, self.out)?.into_iter().next().unwrap_or_default();
        } else {
            copied(&copies, self.out, |_| ())?;
        }
        self.close(&mut header, end)?;
        if follows {
            return Ok(Some(header));
        }
        self.header(at, &header)?;
        Ok(None)
    }

    /// Returns where the data of the next block would be aligned, after a block that ends at `end`. The space up to there is
    /// added to `header`.
    fn room(&self, header: &mut BlockHeader, end: u64) -> Result<u64> {
        if header.is_streamed() {
            return Ok(end);
        }
        let room = aligned(end, self.padding)?;
        header.allocated_size = sub(room, add(self.at, header.size())?)?;
        Ok(room)
    }

    /// Ends a block after `end`, with its unused space.
    fn close(&mut self, header: &mut BlockHeader, end: u64) -> Result<()> {
        let room = self.room(header, end)?;
        if room > end {
            self.out.set_size(room)?;
        }
        self.offsets.push(self.at);
        self.at = room;
        Ok(())
    }

    fn header(&mut self, at: u64, header: &BlockHeader) -> Result<()> {
        let mut bytes = Vec::new();
        header.encode(&mut bytes);
        self.out.write_at(at, &bytes)
    }
}

/// Returns the bytes of a block that is so large that another thread computes its checksum.
fn summed_beside<'a>(prepared: &'a Prepared<'_>) -> Option<&'a [u8]> {
    match &prepared.payload {
        Payload::Memory(bytes) if prepared.needs_checksum && bytes.len() > SMALL => Some(bytes),
        _ => None,
    }
}

/// Returns whether a block is so large that its checksum is computed beside those of other blocks, while they are copied.
fn is_summed_while_copied(prepared: &Prepared<'_>) -> bool {
    let is_elsewhere = matches!(prepared.payload, Payload::Storage { .. });
    prepared.needs_checksum && is_elsewhere && prepared.payload.len() > SMALL as u64
}

/// Bytes that are copied, and their place.
type Copy<'a, 'b> = (&'a Payload<'b>, u64);

/// Copies bytes to their places, a piece of each at a time. `pass` is given the pieces that were written; those of payloads
/// that have ended are empty.
fn copied<'a>(
    copies: &[Copy<'a, '_>],
    out: &mut dyn WriteAt,
    mut pass: impl FnMut(Vec<Cow<'a, [u8]>>),
) -> Result<()> {
    let longest = copies.iter().map(|(payload, _)| payload.len()).fold(0, u64::max);
    // The parts of several payloads have the size that their sums ask for.
    let size = PIECE / (copies.len() as u64).next_power_of_two();
    debug_assert_eq!(size % codec::Sums::STEP as u64, 0);
    let mut at = 0;
    while at < longest {
        let mut pieces = Vec::with_capacity(copies.len());
        for (payload, start) in copies {
            let piece = payload.piece(at.min(payload.len()), size)?;
            if !piece.is_empty() {
                out.write_at(add(*start, at)?, &piece)?;
            }
            pieces.push(piece);
        }
        pass(pieces);
        increase(&mut at, size)?;
    }
    Ok(())
}

/// Copies bytes to their places, and returns the checksum of each. If there are enough threads, another thread computes the
/// checksums of long payloads.
fn summed(copies: &[Copy<'_, '_>], threads: usize, out: &mut dyn WriteAt) -> Result<Vec<[u8; 16]>> {
    let mut sums = Summing::of(copies);
    let total = copies.iter().map(|(payload, _)| payload.len()).fold(0, bound::sum::<u64>);
    if threads < 2 || total <= SMALL as u64 || cfg!(target_family = "wasm") {
        copied(copies, out, |pieces| sums.update(&pieces))?;
        return Ok(sums.finish());
    }
    std::thread::scope(|scope| {
        let (sender, receiver) = sync_channel::<Vec<Cow<'_, [u8]>>>(1);
        let summing = scope.spawn(move || {
            receiver.iter().for_each(|pieces| sums.update(&pieces));
            sums.finish()
        });
        let written = copied(copies, out, |pieces| {
            // The thread receives pieces until there are no more.
            let _ = sender.send(pieces);
        });
        drop(sender);
        match summing.join() {
            Ok(sums) => written.map(|()| sums),
            Err(panic) => std::panic::resume_unwind(panic),
        }
    })
}

/// The checksums of bytes that are copied. That of a single payload is quicker by itself.
enum Summing {
    One(Md5Sum),
    Several(codec::Sums),
}

impl Summing {
    fn of(copies: &[Copy<'_, '_>]) -> Self {
        match copies {
            [_] => Self::One(Md5Sum::default()),
            _ => Self::Several(codec::Sums::new(copies.iter().map(|(payload, _)| payload.len()).collect())),
        }
    }

    fn update(&mut self, pieces: &[Cow<'_, [u8]>]) {
        match self {
            Self::One(sum) => pieces.iter().for_each(|piece| sum.update(piece)),
            Self::Several(sums) => sums.update(pieces),
        }
    }

    fn finish(self) -> Vec<[u8; 16]> {
        match self {
            Self::One(sum) => vec![sum.finish()],
            Self::Several(sums) => sums.finish(),
        }
    }
}
