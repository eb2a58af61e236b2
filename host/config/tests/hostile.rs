//! Whatever the files hold, loading answers.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test ends there")]

use std::path::Path;

use proptest::prelude::*;
use wardian_config::{MemoryFiles, load_root_from, references, span_of};
use wardian_value::{Path as ValuePath, PathStep};

const WORDS: &[&str] = &[
    "resource",
    "variable",
    "module",
    "data",
    "provider",
    "terraform",
    "locals",
    "output",
    "check",
    "moved",
    "required_providers",
    "dynamic",
    "content",
    "lifecycle",
    "\"a\"",
    "\"b_c\"",
    "\"\"",
    "{",
    "}",
    "\n",
    "=",
    "a",
    "count",
    "for_each",
    "source",
    "\"./m\"",
    "\"../\"",
    "[",
    "]",
    "type",
    "default",
    "var.a",
    "each.value",
    "1",
    "providers",
    "alias",
    "version",
    "\"~> 1\"",
    "depends_on",
    "ignore_changes",
    "all",
    "_",
    "provisioner",
    "${",
    "<<E\n",
    "from",
    "to",
    "import",
    "id",
    "validation",
    "condition",
    ",",
    "null",
    "string",
    "object({",
    "})",
];

fn load(text: &[u8]) {
    let files = MemoryFiles::new([("main.tf", text.to_vec()), ("m/main.tf", text.to_vec())]);
    if let Ok(configuration) = load_root_from(&files, Path::new("")) {
        let _ = configuration.check_references();
        let _ = configuration.provider_requirements();
        for (_, resource, _) in configuration.resources() {
            let _ = references(&resource.body, None);
            let path = ValuePath::from(vec![PathStep::Attribute("a".into()), PathStep::Index(1)]);
            let _ = span_of(&resource.body, &path);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes(bytes in any::<Vec<u8>>()) {
        load(&bytes);
    }

    #[test]
    fn any_words(words in prop::collection::vec(prop::sample::select(WORDS), 0..40)) {
        load(words.join(" ").as_bytes());
    }

    #[test]
    fn any_cut_of_a_block(cut in 0usize..400) {
        let text = r#"
terraform {
  required_providers { a = { source = "a/b", configuration_aliases = [a.x] } }
}
module "m" {
  source    = "./m"
  providers = { a = a.b }
}
resource "a_b" "c" {
  count = 2
  lifecycle { ignore_changes = [x[0].y] }
  dynamic "d" {
    for_each = var.q
    content { e = d.value }
  }
}
"#;
        load(text.get(..cut).unwrap_or(text).as_bytes());
    }
}
