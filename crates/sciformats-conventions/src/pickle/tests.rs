//! Pickles of names and dates.

use proptest::prelude::*;

use super::*;
use crate::time::Period;

#[test]
fn names_of_columns() {
    let of = |bytes: &[u8]| -> Vec<String> {
        names(bytes).unwrap().into_iter().map(Option::unwrap_or_default).collect()
    };
    assert_eq!(of(b"(lp0\nVvalues_block_0\np1\naVa\np2\na."), ["values_block_0", "a"]);
    assert_eq!(of(b"\x80\x04\x95\x10\0\0\0\0\0\0\0]\x94(\x8c\x01a\x94\x8c\x02bc\x94e."), ["a", "bc"]);
    assert_eq!(of(b"(lp0\nI3\naVx\na."), ["3", "x"]);
    // Tuples, moments, truth values, and a name that is missing.
    let several = b"(l(Vsnout\nI1\ntac_t\n_unpickle_timestamp\n(L978307200000000L\nNNI9\ntRaI01\naNa.";
    assert_eq!(of(several), ["snout.1", "2001-01-01T00:00:00", "True", "None"]);
    assert_eq!(names(b"(lcos\nsystem\n(tRa.").unwrap(), [None]);
    assert_eq!(names(b"N."), None);
    assert_eq!(names(b"cos\nsystem\n(S'true'\ntR."), None);
}

#[test]
fn periods_and_intervals() {
    let month = b"cpandas._libs.tslibs.offsets\nMonthEnd\np0\n(I1\nI00\ntp1\nRp2\n.";
    assert_eq!(period(&parse(month).unwrap()), Some(Period::Month));
    // A quarter that ends in another month than those of the calendar.
    let quarter = b"cpandas._libs.tslibs.offsets\nQuarterEnd\n(I1\nI00\nI11\ntR.";
    assert_eq!(period(&parse(quarter).unwrap()), Some(Period::Quarter));
    let week = b"cpandas._libs.tslibs.offsets\nWeek\np0\n(I1\nI00\nI2\ntp1\nRp2\n.";
    assert_eq!(period(&parse(week).unwrap()), Some(Period::Week(2)));
    assert_eq!(period_of_type("period[W-SUN]"), Some(Period::Week(6)));
    assert_eq!(period_of_type("period[15min]"), Some(Period::Minute));
    assert_eq!(period_of_type("period[C]"), None);
    let july = b"cpandas\nPeriod\n(NcX\nMonthEnd\n(I1\ntRI378\ntR.";
    assert_eq!(name(&parse(july).unwrap()).as_deref(), Some("2001-07"));
    let interval = b"cpandas\nInterval\n(F0.5\nI2\nVright\ntR.";
    assert_eq!(name(&parse(interval).unwrap()).as_deref(), Some("(0.5, 2]"));
    assert_eq!(name(&parse(b"cpandas\nInterval\n(I1\ntR.").unwrap()), None);
    assert_eq!(*parse(b"\x8a\x02\x00\xff.").unwrap(), Item::Whole(-256));
}

#[test]
fn calls_are_noted_and_not_made() {
    let call = parse(b"cos\nsystem\n(S'true'\ntR.").unwrap();
    let text = Arc::new(Item::Text("true".into()));
    assert_eq!(*call, Item::Object("system".into(), vec![Arc::new(Item::List(vec![text]))]));
}

#[test]
fn elements_of_arrays_are_texts_numbers_or_missing() {
    // An array of NumPy: its class, the call that makes it, and its state, whose last part is the list of elements.
    let array = |elements: &str| format!("cnumpy\n_reconstruct\n(tR(I1\n(I2\ntNI00\n({elements}ltb.");
    let of = |text: &str| elements(array(text).as_bytes());
    assert_eq!(of("Va\nN").unwrap().unwrap(), [Some("a".to_owned()), None]);
    assert_eq!(of("Fnan\nI3\n").unwrap().unwrap(), [None, Some("3".to_owned())]);
    assert_eq!(of("cpandas._libs.missing\nNA\nVb\n").unwrap().unwrap(), [None, Some("b".to_owned())]);
    let harm = of("cos\nsystem\n(S'true'\ntRVb\n").unwrap_err().to_string();
    assert!(harm.contains("system") && harm.contains("never run"), "{harm}");
    assert!(of("(lVb\n").is_err());
    assert_eq!(elements(b"no pickle").unwrap(), None);
}

#[test]
fn texts_of_protocol_0_have_escapes() {
    // "naïve Ω a\\b 😀" and "é" as Python writes them.
    let text = parse(b"Vna\xefve \\u03a9 a\\u005cb \\U0001f600\np0\n.").unwrap();
    assert_eq!(*text, Item::Text("naïve Ω a\\b 😀".into()));
    assert_eq!(*parse(b"V\\u12\n.").unwrap(), Item::Text("\\u12".into()));
    assert_eq!(*parse(b"S'a\\\\b\\xc3\\xa9\\n\"'\n.").unwrap(), Item::Text("a\\bé\n\"".into()));
    assert_eq!(parse(b"S'a\n."), None);
}

#[test]
fn dates_and_numbers_of_objects() {
    let of = |bytes: &[u8]| name(&parse(bytes).unwrap());
    let day = b"cdatetime\ndate\np0\n(c_codecs\nencode\np1\n(V\x07\xe4\x01\x02\np2\nVlatin1\ntRtR.";
    assert_eq!(of(day).as_deref(), Some("2020-01-02"));
    let moment =
        b"\x80\x05\x8c\x08datetime\x94\x8c\x08datetime\x94\x93C\n\x07\xe4\x01\x02\x03\0\0\0\0\x05\x85R.";
    assert_eq!(of(moment).as_deref(), Some("2020-01-02T03:00:00.000005"));
    let seven = b"cnumpy\nscalar\n(cnumpy\ndtype\n(Vi8\nI00\nI01\ntR(I3\nV<\ntbC\x08\x07\0\0\0\0\0\0\0tR.";
    assert_eq!(of(seven).as_deref(), Some("7"));
    assert_eq!(of(b"c_t\n_timedelta_unpickle\n(L60000000000L\nI10\ntR.").as_deref(), Some("60.0"));
    assert_eq!(of(b"I01\n.").as_deref(), Some("True"));
    assert_eq!(of(b"C\x01\xff."), None);
}

proptest! {
    #[test]
    fn no_bytes_panic(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
        let _ = parse(&bytes);
        let _ignored = elements(&bytes);
    }
}
