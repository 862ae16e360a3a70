//! Ending frames and committing them, and changes of the whole file.

use sciformats_core::arith::present;
use sciformats_core::commit::{Fate, Plan, Session, Syncs};
use sciformats_core::storage::Durability;
use sciformats_core::{Error, ReadAt, Result, WriteAt};

use super::{Condition, ENTRIES, Writer};
use crate::Block;
use crate::model::commit::{Commit, Pending, State, Then};
use crate::model::names::Names;
use crate::spec::name_list;

impl<S: ReadAt + WriteAt> Writer<S> {
    /// Completes the current frame, which may be empty, and begins the next one. The frame is committed by the next
    /// [`flush`](Self::flush), or now if very many chunks are waiting. Empty frames at the end of a file leave no trace in it.
    ///
    /// ```
    /// # let options = gsd_rs::CreateOptions::new("docs", "points", gsd_rs::Version::new(1, 0));
    /// # let mut writer = gsd_rs::Writer::create_in(Vec::new(), &options)?;
    /// writer.write("step", 1, &[0u64])?;
    /// writer.end_frame()?;
    /// writer.write("step", 1, &[1u64])?; // the same name again, in the next frame
    /// writer.end_frame()?;
    /// assert_eq!((writer.frames(), writer.committed()), (2, 0));
    /// # Ok::<(), gsd_rs::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`flush`](Self::flush); the frame is complete nevertheless.
    pub fn end_frame(&mut self) -> Result<()> {
        self.end_frames(1)
    }

    /// Completes the current frame and adds empty ones, `count` frames in all. The cost does not depend on `count`.
    ///
    /// ```
    /// # let options = gsd_rs::CreateOptions::new("docs", "points", gsd_rs::Version::new(1, 0));
    /// # let mut writer = gsd_rs::Writer::create_in(Vec::new(), &options)?;
    /// writer.write("step", 1, &[0u64])?;
    /// writer.end_frames(1_000_000)?; // nothing was logged meanwhile
    /// writer.write("step", 1, &[1_000_000u64])?;
    /// writer.end_frame()?;
    /// assert_eq!(writer.frames(), 1_000_001);
    /// # Ok::<(), gsd_rs::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`end_frame`](Self::end_frame).
    pub fn end_frames(&mut self, count: u64) -> Result<()> {
        self.check_open()?;
        if count == 0 {
            return Ok(());
        }
        self.frame = self
            .frame
            .checked_add(count)
            .ok_or_else(|| Error::usage("frame", "already has the largest number"))?;
        self.finished = self.entries.len();
        self.present.clear();
        if self.finished >= ENTRIES { self.flush() } else { Ok(()) }
    }

    /// Discards the chunks that were written since the last [`end_frame`](Self::end_frame).
    ///
    /// ```
    /// use gsd_rs::Reader;
    ///
    /// # let options = gsd_rs::CreateOptions::new("docs", "points", gsd_rs::Version::new(1, 0));
    /// # let mut writer = gsd_rs::Writer::create_in(Vec::new(), &options)?;
    /// writer.write("step", 1, &[0u64])?;
    /// writer.end_frame()?;
    /// writer.write("step", 1, &[1u64])?;
    /// writer.discard_frame(); // the simulation has failed in this step
    /// let reader = Reader::from_bytes(writer.into_bytes()?)?;
    /// assert_eq!(reader.frames(), 1);
    /// # Ok::<(), gsd_rs::Error>(())
    /// ```
    pub fn discard_frame(&mut self) {
        self.entries.truncate(self.finished);
        self.present.clear();
    }

    /// Commits the complete frames.
    ///
    /// ```
    /// use gsd_rs::{Reader, Writer};
    ///
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let path = dir.path().join("walk.gsd");
    /// # let options = gsd_rs::CreateOptions::new("docs", "points", gsd_rs::Version::new(1, 0));
    /// let mut writer = Writer::create(&path, &options)?;
    /// writer.write("step", 1, &[0u64])?;
    /// writer.end_frame()?;
    /// writer.flush()?; // from here on the frame survives whatever happens
    /// assert_eq!((writer.committed(), Reader::open(&path)?.frames()), (1, 1));
    /// # Ok::<(), gsd_rs::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Conflict`] if another program has changed the file; nothing is written then, now or later. `Io`: the file then
    /// has the state of the previous commit, and the flush can be repeated, for example once there is space. If the device failed
    /// to sync, all further writes are refused.
    pub fn flush(&mut self) -> Result<()> {
        self.commit(Then::Continue)
    }

    fn commit(&mut self, then: Then) -> Result<()> {
        self.check_open()?;
        let buffer = std::mem::take(&mut self.buffer);
        let done = self.commit_with(&buffer, then);
        // Data that could not be written, or that belongs to an incomplete frame, waits.
        self.buffer = buffer;
        if done? {
            self.buffer.clear();
        }
        Ok(())
    }

    /// Commits the complete frames. Returns whether there was something to commit.
    fn commit_with(&mut self, data: &[u8], then: Then) -> Result<bool> {
        let pending = Pending {
            data_at: self.buffer_at,
            data,
            entries: present(self.entries.get(..self.finished), "entries of finished frames")?,
            names: &self.names,
            frames: self.frame,
        };
        let commit = self.state.plan(&pending, then, self.session.storage())?;
        let Commit { plans, state, names, end } = commit;
        if plans.is_empty() {
            return Ok(false);
        }
        self.run(plans)?;
        self.succeed(state, names, end)?;
        self.entries.drain(..self.finished);
        self.finished = 0;
        Ok(true)
    }

    fn succeed(&mut self, state: State, names: Block, end: u64) -> Result<()> {
        self.state = state;
        self.names.store(names);
        self.buffer.clear();
        self.buffer_at = end;
        // The next commit must not happen if the state that it builds upon is not known.
        self.watch().inspect_err(|_| {
            self.condition = Condition::Failed("could not read the file; open it again");
        })
    }

    /// Carries out plans one after another. If one fails, those before it are taken back too.
    fn run(&mut self, plans: Vec<Plan<'_>>) -> Result<()> {
        let syncs = if self.durability == Durability::Power { Syncs::Durable } else { Syncs::None };
        let before = self.session.storage().size();
        let mut done = false;
        for plan in plans {
            if let Err(error) = self.session.commit(plan, syncs) {
                if done && self.session.fate() == Fate::Kept {
                    // The plans have changed nothing for readers but the header.
                    let old_len = self.session.storage().size();
                    let back = self.state.plan_header((old_len, before));
                    let _ =
                        back.and_then(|back| self.session.commit(back, syncs)).and_then(|()| self.watch());
                }
                self.fail();
                return Err(error);
            }
            done = true;
        }
        Ok(())
    }

    fn watch(&mut self) -> Result<()> {
        self.state.generation()?.into_iter().try_for_each(|(offset, len)| self.session.watch(offset, len))
    }

    fn fail(&mut self) {
        if self.session.fate() == Fate::Unknown {
            self.state.uncertain = true;
            self.session.unwatch();
        }
        if self.session.has_lost_bytes() {
            // The system may have dropped what it could not write, and would not report this again.
            self.condition = Condition::Failed(
                "has lost bytes, because the device failed to sync them; open the file again",
            );
        }
    }

    pub(super) fn check_open(&self) -> Result<()> {
        match self.condition {
            Condition::Open => Ok(()),
            Condition::Failed(why) => Err(Error::usage("writer", why)),
            Condition::Closed => Err(Error::usage("writer", "is closed")),
        }
    }

    /// Upgrades a file of layer 0.3 or 1.x to layer 2.1 in place; other files stay as they are. The data is not touched, and the
    /// index and the names are written again. Complete frames are committed first.
    ///
    /// ```
    /// use gsd_rs::{CreateOptions, Version, Writer};
    ///
    /// let old = CreateOptions::new("docs", "points", Version::new(1, 0)).with_layer(Version::new(1, 0));
    /// let mut writer = Writer::create_in(Vec::new(), &old)?;
    /// assert!(writer.write_text("note", "heated to 350 K").is_err()); // not in this layer
    /// writer.upgrade()?;
    /// assert_eq!(writer.header().version, Version::new(2, 1));
    /// writer.write_text("note", "heated to 350 K")?;
    /// # writer.discard_frame();
    /// # Ok::<(), gsd_rs::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`flush`](Self::flush); [`Error::Usage`] if a frame has been begun.
    pub fn upgrade(&mut self) -> Result<()> {
        self.settle()?;
        if self.state.header.encoding() == name_list::Encoding::Packed {
            return Ok(());
        }
        let names = self.names.repacked(name_list::Encoding::Packed);
        let commit = self.state.plan_upgrade(&names, self.buffer_at, self.session.storage())?;
        self.replace(commit, names)
    }

    /// Removes all frames and names; the application and the schema stay. A reader that has mapped the file must not continue to
    /// read. The file becomes one of the current layer. If this is interrupted, the file has all its frames or none; after a
    /// failure, the writer refuses further calls.
    ///
    /// ```
    /// use gsd_rs::Reader;
    ///
    /// # let options = gsd_rs::CreateOptions::new("docs", "points", gsd_rs::Version::new(1, 0));
    /// # let mut writer = gsd_rs::Writer::create_in(Vec::new(), &options)?;
    /// writer.write("step", 1, &[0u64])?;
    /// writer.end_frame()?;
    /// writer.truncate()?;
    /// assert_eq!(writer.frames(), 0);
    /// assert_eq!(Reader::from_bytes(writer.into_bytes()?)?.names().len(), 0);
    /// # Ok::<(), gsd_rs::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`flush`](Self::flush); [`Error::Usage`] if a frame has been begun.
    pub fn truncate(&mut self) -> Result<()> {
        self.settle()?;
        let commit = self.state.plan_truncation(self.buffer_at, self.session.storage())?;
        let names = Names::empty(commit.names);
        let result = self.replace(commit, names);
        match result {
            Ok(()) => self.frame = 0,
            // The frames may be gone, so they must not be declared again.
            Err(_) => {
                self.condition = Condition::Failed("could not truncate the file; open it again");
            }
        }
        result
    }

    /// Commits, and checks that no frame is incomplete.
    fn settle(&mut self) -> Result<()> {
        if !self.entries.is_empty() && self.finished < self.entries.len() {
            return Err(Error::usage("frame", "has been begun; end or discard it first"));
        }
        self.flush()
    }

    fn replace(&mut self, commit: Commit<'_>, names: Names) -> Result<()> {
        let Commit { plans, state, names: block, end } = commit;
        self.run(plans)?;
        self.names = names;
        self.succeed(state, block, end)
    }

    /// Commits the complete frames and leaves the file as other programs expect it, with free space in its index. Dropping the
    /// writer does the same, but cannot report a failure.
    ///
    /// ```
    /// use gsd_rs::Writer;
    ///
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let path = dir.path().join("walk.gsd");
    /// # let options = gsd_rs::CreateOptions::new("docs", "points", gsd_rs::Version::new(1, 0));
    /// let mut writer = Writer::create(&path, &options)?;
    /// writer.write("step", 1, &[0u64])?;
    /// assert!(writer.finish().is_err()); // `end_frame` is missing
    /// # Ok::<(), gsd_rs::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`flush`](Self::flush); [`Error::Usage`] if a frame has been begun and neither ended nor discarded. The complete
    /// frames are committed even then.
    pub fn finish(mut self) -> Result<()> {
        self.close()
    }

    fn close(&mut self) -> Result<()> {
        self.commit(Then::Close)?;
        self.condition = Condition::Closed;
        self.session.roll_back()?;
        if self.entries.is_empty() {
            Ok(())
        } else {
            Err(Error::usage("frame", "has been begun, but was not ended"))
        }
    }
}

impl Writer<Vec<u8>> {
    /// Does the same as [`finish`](Self::finish), and returns the file.
    ///
    /// ```
    /// use gsd_rs::{CreateOptions, Reader, Version, Writer};
    ///
    /// let mut writer = Writer::create_in(Vec::new(), &CreateOptions::new("docs", "points", Version::new(1, 0)))?;
    /// writer.write("step", 1, &[1000u64])?;
    /// writer.end_frame()?;
    /// assert_eq!(Reader::from_bytes(writer.into_bytes()?)?.frames(), 1);
    /// # Ok::<(), gsd_rs::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`finish`](Self::finish).
    pub fn into_bytes(mut self) -> Result<Vec<u8>> {
        self.close()?;
        Ok(std::mem::replace(&mut self.session, Session::over(Vec::new())).into_storage())
    }
}

impl<S: ReadAt + WriteAt> Drop for Writer<S> {
    fn drop(&mut self) {
        if self.condition == Condition::Open {
            // A failure cannot be reported here. What was flushed before is safe in any case.
            let _ = self.commit(Then::Close);
        }
        // A failure can be ignored, because data to which no frame refers does no harm.
        let _ = self.session.roll_back();
    }
}
