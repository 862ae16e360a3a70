//! The advice on HDF5 files: what they have, the plan, and the replay over both layouts.

mod accesses;
mod look;
mod plan;

use std::collections::HashMap;
use std::sync::Arc;

use hdf5_pure::Dataset;
use sciformats_core::ReadAt;

pub(super) use look::{Known, Look, main_variable};
pub(super) use plan::limits;

use super::{Advice, Finding, Opener, Options, Plan, Profile, rules};
use crate::repack;
use sciformats::{File, Result};

use accesses::{Stores, accesses};
use look::look;
use plan::{checked, effort, planned_ratio, sampled, wanted};

pub(super) fn advise(file: &Arc<File>, open: Opener<'_>, options: &Options) -> Result<Advice> {
    let mut look = look(file, open)?;
    sampled(&mut look, options)?;
    if options.profile == Profile::Archive {
        checked(&mut look)?;
    }
    let mut findings = rules::all(&look, options.profile);
    findings.sort_by_key(|finding: &Finding| std::cmp::Reverse(finding.weight));
    let write = wanted(&look, options.profile, &findings);
    let mut plan = None;
    let mut hollow = None;
    if let (Some((write, arguments)), true) = (write, file.path().is_some() || file.storage().is_some()) {
        let ratios: HashMap<String, f64> = look
            .datasets
            .iter()
            .filter_map(|known| Some((known.facts.path.clone(), planned_ratio(&known.facts)?)))
            .collect();
        let guess = |dataset: &Dataset, raw: u64| {
            let path =
                dataset.file().path_of(dataset.address())?.map(String::from_utf8_lossy).unwrap_or_default();
            let ratio = ratios.get(path.as_ref()).copied().unwrap_or(1.0);
            // A cast of a positive number stops at the range.
            Ok((raw as f64 * ratio).ceil() as u64)
        };
        let (made, structures) = repack::planned(file, &[], &write, &guess)?;
        let (recoded, seconds) = effort(&look);
        plan = Some(Plan { options: write, arguments, size: made.size(), structures, recoded, seconds });
        hollow = Some(made);
    }
    let accesses = accesses(file, open, hollow.as_ref().map(|hollow| hollow as &dyn Stores), &look)?;
    Ok(Advice {
        profile: options.profile,
        size: file.size(),
        structures: Some(look.structures),
        datasets: look.datasets.into_iter().map(|known| known.facts).collect(),
        findings,
        accesses,
        plan,
    })
}
