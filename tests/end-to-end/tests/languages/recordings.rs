//! The recorded components.

use std::fs;
use std::path::Path;

use crate::provider::{Language, REMEDY, recordings};
use crate::sources;

#[test]
fn recorded_components_are_built_from_the_current_sources() {
    let plugins = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../plugins");
    for language in Language::RECORDED {
        let recorded = recordings().join(language.file()).with_extension("sources");
        let recorded = fs::read_to_string(&recorded).unwrap_or_default();
        let current = sources::digest(&plugins.join(language.sdk())).unwrap();
        assert_eq!(
            recorded.trim_end(),
            current,
            "plugins/{} has changed since the component in {language} was recorded: {REMEDY}",
            language.sdk()
        );
    }
}
