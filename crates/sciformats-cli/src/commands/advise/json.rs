//! What `advise` measured, as JSON.

use sciformats::Value;
use sciformats_convert::advise::{
    Advice, Candidate, Cost, DatasetFacts, Finding, Plan, Replayed, Structures,
};

use super::{Advise, command, seconds};
use crate::commands::json::JsonObject;

pub(super) fn json(advice: &Advice, args: &Advise) -> String {
    let mut all = JsonObject::new();
    all.value("file", args.file.display().to_string().as_str()).value("profile", advice.profile.word());
    all.value("suits", advice.suits()).value("size", advice.size);
    if let Some(of) = &advice.structures {
        all.raw("structures", &structures(of));
    }
    all.raw("findings", &list(&advice.findings, finding));
    all.raw("datasets", &list(&advice.datasets, dataset));
    all.raw("accesses", &list(&advice.accesses, |of| access(of, args)));
    if let Some(of) = &advice.plan {
        all.raw("plan", &plan(of, args));
    }
    all.finish()
}

fn list<T>(all: &[T], json: impl Fn(&T) -> String) -> String {
    format!("[{}]", all.iter().map(json).collect::<Vec<_>>().join(","))
}

fn texts<'t>(all: impl IntoIterator<Item = &'t String>) -> Value {
    Value::List(all.into_iter().map(|text| text.as_str().into()).collect())
}

fn structures(of: &Structures) -> String {
    let mut object = JsonObject::new();
    object.value("bytes", of.bytes).value("blocks", of.blocks).value("end", of.end);
    object.value("first", of.is_first());
    if let Some(first) = of.first_element {
        object.value("first_element", first);
    }
    if let Some(page) = of.page_size {
        object.value("page_size", page);
    }
    object.finish()
}

fn finding(of: &Finding) -> String {
    let mut object = JsonObject::new();
    object.value("rule", of.rule).value("weight", of.weight.word()).value("path", of.path.as_str());
    object.value("what", of.what.as_str()).value("advice", of.advice.as_str());
    object.finish()
}

fn dataset(of: &DatasetFacts) -> String {
    let mut object = JsonObject::new();
    object.value("path", of.path.as_str()).list("shape", Some(&of.shape));
    object.list("chunks", of.chunks.as_deref()).value("stored_chunks", of.stored.0);
    object.value("stored_bytes", of.stored.1);
    object.value("filters", texts(&of.filters));
    if let Some(chunks) = &of.planned_chunks {
        object.list("planned_chunks", Some(chunks));
    }
    if let Some((filter, _)) = &of.planned_filter {
        object.value("planned_filter", filter.as_str());
    }
    object.raw("candidates", &list(&of.candidates, candidate));
    object.finish()
}

fn candidate(of: &Candidate) -> String {
    let mut object = JsonObject::new();
    object.value("filter", of.filter.as_str());
    if let Some(level) = of.level {
        object.value("level", level);
    }
    object.value("ratio", of.ratio);
    for (name, rate) in [("encode", of.encode), ("decode", of.decode)] {
        if rate.is_finite() && rate > 0.0 {
            object.value(name, rate);
        }
    }
    object.finish()
}

fn access(of: &Replayed, args: &Advise) -> String {
    let mut object = JsonObject::new();
    object.value("name", of.name.as_str()).value("path", of.path.as_str());
    object.raw("now", &cost(&of.now, args));
    if let Some(then) = &of.then {
        object.raw("then", &cost(then, args));
    }
    object.finish()
}

fn cost(of: &Cost, args: &Advise) -> String {
    let mut object = JsonObject::new();
    object.value("requests", of.requests).value("rounds", of.rounds).value("bytes", of.bytes);
    object.value("chunks", of.chunks).value("decoded", of.decoded).value("wanted", of.wanted);
    object.value("seconds", seconds(of, args));
    object.finish()
}

fn plan(of: &Plan, args: &Advise) -> String {
    let mut object = JsonObject::new();
    object.value("arguments", texts(&of.arguments));
    object.value("command", command(args, &of.arguments).as_str()).value("size", of.size);
    object.value("structures", of.structures).value("recoded", of.recoded).value("seconds", of.seconds);
    object.finish()
}
