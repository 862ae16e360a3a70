//! Blocks are written one after another. The bytes of a block are written before its header, which contains their checksum.

use std::ops::Range;
use std::sync::mpsc::sync_channel;

use sciformats_core::arith::{add, fit, increase, present, sub};
use sciformats_core::{Result, WriteAt, bound};

use super::prepared::{self, Payload, Prepared, Source, Work, prepare};
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

    /// Blocks whose bytes are there: the sums of those in memory are made by other threads.
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
            for block in &prepared {
                let at = self.at;
                let is_summed = summed_beside(block).is_some();
                if let Some(header) = self.block(block, is_summed)? {
                    headers.push((at, header));
                }
            }
            Ok(headers)
        })?;
        for ((at, header), sum) in headers.iter_mut().zip(sums.into_iter().flatten()) {
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
        let threads = if prepared.needs_checksum && !follows { self.threads } else { 0 };
        if let Some(sum) = payload(&prepared.payload, start, threads, self.out)? {
            header.checksum = sum;
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

/// Writes bytes at `start`, and returns their checksum unless `threads` is 0. If there are enough threads, another thread
/// computes the checksum of a long payload.
fn payload(
    payload: &Payload<'_>,
    start: u64,
    threads: usize,
    out: &mut dyn WriteAt,
) -> Result<Option<[u8; 16]>> {
    let mut write = |position: u64, piece: &[u8]| out.write_at(add(start, position)?, piece);
    if threads == 0 {
        return payload.for_each_piece(write).map(|()| None);
    }
    if threads < 2 || payload.len() <= SMALL as u64 || cfg!(target_family = "wasm") {
        let mut sum = Md5Sum::default();
        payload.for_each_piece(|position, piece| {
            sum.update(piece);
            write(position, piece)
        })?;
        return Ok(Some(sum.finish()));
    }
    std::thread::scope(|scope| {
        let (sender, receiver) = sync_channel::<Vec<u8>>(1);
        let summing = scope.spawn(move || {
            let mut sum = Md5Sum::default();
            receiver.iter().for_each(|piece| sum.update(&piece));
            sum.finish()
        });
        let written = payload.for_each_piece(|position, piece| {
            write(position, piece)?;
            // The thread receives pieces until there are no more.
            let _ = sender.send(piece.to_vec());
            Ok(())
        });
        drop(sender);
        match summing.join() {
            Ok(sum) => written.map(|()| Some(sum)),
            Err(panic) => std::panic::resume_unwind(panic),
        }
    })
}
