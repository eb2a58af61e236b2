//! Plans for the tests of all renderers, as the JSON documents that `show -json` prints.
//!
//! In each of [`five_plans`], one change is dangerous, and every renderer shows it first.

mod color;

use serde_json::{Value, json};

pub use color::{MIN_COLOR_DISTANCE, MIN_CONTRAST, Rgb, Vision};

/// A plan for tests.
#[derive(Clone, Debug)]
pub struct TestPlan {
    pub name: &'static str,
    pub json: String,
    /// The address of the change that a reviewer must not miss.
    pub dangerous: &'static str,
}

/// Returns the five plans: a small change, 300 instances of one change, a replacement that cascades,
/// drift, and 10,000 changes.
pub fn five_plans() -> Vec<TestPlan> {
    vec![
        TestPlan { name: "small", json: small(), dangerous: "aws_db_instance.main" },
        TestPlan { name: "instances", json: many_instances(), dangerous: "aws_ebs_volume.data[\"archive\"]" },
        TestPlan { name: "cascade", json: cascade(), dangerous: "aws_vpc.main" },
        TestPlan { name: "drift", json: drift(), dangerous: "aws_db_instance.orders" },
        TestPlan { name: "large", json: large(10_000), dangerous: "module.storage.aws_s3_bucket.audit" },
    ]
}

/// Names and values in right-to-left scripts, in wide characters, and with emoji of several characters.
pub const WIDE_TEXTS: [&str; 6] =
    ["שלום עולם", "مرحبا بالعالم 123", "世界您好", "ウェブサーバー", "👩‍💻🏳️‍🌈", "abc אבג 123 → דהו"];

/// Returns a plan with [`WIDE_TEXTS`] as instance keys, attributes and values.
pub fn wide_plan() -> String {
    let changes: Vec<Value> = WIDE_TEXTS
        .iter()
        .enumerate()
        .map(|(index, text)| {
            let next = WIDE_TEXTS[(index + 1) % WIDE_TEXTS.len()];
            change(
                &format!("aws_instance.web[\"{text}\"]"),
                &json!(["update"]),
                &json!({"name": text, "tags": {*text: text}, "text": format!("{text}\n{text}")}),
                &json!({"name": next, "tags": {*text: next}, "text": format!("{text}\n{next}")}),
            )
        })
        .collect();
    document(&changes, &[], &json!({}))
}

/// Text that would be active in HTML, Markdown or a terminal if a renderer did not escape it.
pub const HOSTILE_TEXTS: [&str; 14] = [
    "<script>window.attacked = 1; fetch('http://attacker.invalid/script')</script>",
    "\"><img src=http://attacker.invalid/image onerror=\"window.attacked = 2\">",
    "'><svg onload='window.attacked = 3'>",
    "</details></pre></style><style>@import url(http://attacker.invalid/style);</style>",
    "[link](javascript:window.attacked=4) ![image](http://attacker.invalid/markdown)",
    "```\n# A heading\n`````\n</details>\n<h1>Approved</h1>",
    "~~~\n- [x] approved by @everyone, see #1 and http://attacker.invalid/auto",
    "<!-- wardian-plan: v1 hostile --> --> <!--",
    "\u{1b}[2J\u{1b}[1;1HPlan: 0 to add\r\nPlan: 0 to add, 0 to change, 0 to destroy.",
    "\u{202e}desrever\u{202c} \u{200b}\u{feff}invisible\u{2066}",
    "| a | b |\n|---|---|\n<table><td>",
    "javascript:alert(1) &lt;b&gt; &amp; {{ constructor }} ${7*7}",
    "שלום עולם 世界 👩‍👩‍👧 مرحبا",
    "\u{0}\u{7f}\u{9b}31m\u{2028}\u{2029}",
];

/// Returns a plan with [`HOSTILE_TEXTS`] in every text that a plan can contain.
pub fn hostile_plan() -> String {
    let mut changes = Vec::new();
    let mut outputs = serde_json::Map::new();
    let mut checks = Vec::new();
    let mut invocations = Vec::new();
    for (index, text) in HOSTILE_TEXTS.iter().enumerate() {
        let key = serde_json::to_string(text).unwrap_or_default().replace("${", "$${");
        let other = HOSTILE_TEXTS.get(index + 1).unwrap_or(&"end");
        let actions = [json!(["delete"]), json!(["update"]), json!(["delete", "create"]), json!(["create"])];
        let mut document = change(
            &format!("module.m[{key}].aws_instance.web[{key}]"),
            &actions.get(index % 4).cloned().unwrap_or_default(),
            &json!({"name": text, *text: {*other: [text]}, "lines": format!("a\n{text}\nb"), "secret": "topsecret"}),
            &json!({"name": other, *text: {*other: [other]}, "lines": format!("a\n{other}\nb"), "secret": "topsecret2"}),
        );
        if let Some(document) = document.as_object_mut() {
            document.insert("provider_name".to_owned(), json!(text));
            document.insert("action_reason".to_owned(), json!(text));
            document.insert("deposed".to_owned(), json!(text));
            document.insert("previous_address".to_owned(), json!(text));
            if let Some(change) = document.get_mut("change").and_then(Value::as_object_mut) {
                change.insert("before_sensitive".to_owned(), json!({"secret": true}));
                change.insert("after_sensitive".to_owned(), json!({"secret": true}));
                change.insert("replace_paths".to_owned(), json!([[text], ["name"]]));
                change.insert("importing".to_owned(), json!({"id": text}));
            }
        }
        changes.push(document);
        outputs.insert((*text).to_owned(), json!({"actions": ["update"], "before": text, "after": other}));
        checks.push(json!({
            "address": {"kind": "check", "to_display": text}, "status": "fail",
            "instances": [{"address": {"to_display": text}, "status": "fail", "problems": [{"message": text}]}]
        }));
        let mut invocation = invocation(
            &format!("module.m[{key}].action.aws_lambda_invoke.run[{key}]"),
            Some((&format!("module.m[{key}].aws_instance.web[{key}]"), text)),
            &json!({*text: [text], "secret": "topsecret"}),
        );
        invocation["config_sensitive"] = json!({"secret": true});
        invocation["provider_name"] = json!(text);
        invocations.push(invocation);
    }
    json!({
        "format_version": "1.2",
        "terraform_version": HOSTILE_TEXTS[0],
        "timestamp": HOSTILE_TEXTS[1],
        "resource_drift": changes,
        "resource_changes": changes,
        "output_changes": outputs,
        "action_invocations": invocations,
        "checks": checks,
        "errored": false, "complete": true, "applyable": true,
    })
    .to_string()
}

/// Returns a plan in which the updates of 30 instances and a replacement invoke actions, with one check
/// of each result.
pub fn plan_with_actions() -> String {
    let mut documents = vec![change(
        "aws_db_instance.main",
        &json!(["delete", "create"]),
        &json!({"engine": "mysql"}),
        &json!({"engine": "postgres"}),
    )];
    let mut invocations = vec![invocation(
        "action.aws_lambda_invoke.restore",
        Some(("aws_db_instance.main", "AfterCreate")),
        &json!({"function_name": "restore", "payload": {"token": "topsecret"}, "qualifier": null}),
    )];
    invocations[0]["config_sensitive"] = json!({"payload": {"token": true}});
    invocations[0]["config_unknown"] = json!({"id": true});
    for index in 0..30 {
        let address = format!("aws_instance.node[{index}]");
        documents.push(change(
            &address,
            &json!(["update"]),
            &instance(index, "ami-0abc", "v1"),
            &instance(index, "ami-0abc", "v2"),
        ));
        // The last instance triggers no action.
        if index < 29 {
            invocations.push(invocation(
                &format!("action.aws_ssm_command.restart[{index}]"),
                Some((&address, "AfterUpdate")),
                &json!({"instance": index}),
            ));
        }
    }
    let check = |kind: &str, name: &str, status: &str, problems: Value| {
        json!({
            "address": {"kind": kind, "to_display": name}, "status": status,
            "instances": [{"address": {"to_display": name}, "status": status, "problems": problems}]
        })
    };
    json!({
        "format_version": "1.2",
        "resource_changes": documents,
        "action_invocations": invocations,
        "checks": [
            check("check", "check.website", "fail", json!([{"message": "The website does not respond."}])),
            check("output_value", "output.url", "error", json!([])),
            check("resource", "aws_instance.node[0]", "pass", json!([])),
            check("var", "var.size", "unknown", json!([])),
        ],
        "timestamp": "2026-01-01T00:00:00Z", "applyable": true, "complete": true, "errored": false,
    })
    .to_string()
}

/// Returns a plan that consists of an invocation that the user requested.
pub fn requested_invocation() -> String {
    let invocation = invocation("module.a.action.aws_lambda_invoke.warm_up", None, &json!({"name": "warm"}));
    json!({"format_version": "1.2", "action_invocations": [invocation], "complete": false}).to_string()
}

/// Returns a plan in which the members of groups differ: one of 30 rules has a dangerous value
/// ([`ODD_RULE`]), objects are moved and imported, deposed objects are destroyed, and two users are
/// destroyed for different reasons.
pub fn plan_with_differing_members() -> String {
    let mut documents: Vec<Value> = (0..30)
        .map(|index| {
            let next = if index == 17 { "0.0.0.0/0" } else { "10.0.0.0/8" };
            change(
                &format!("aws_security_group_rule.rule[{index}]"),
                &json!(["update"]),
                &json!({"cidr": "192.168.0.0/16", "port": 443, "release": "v1"}),
                &json!({"cidr": next, "port": 443, "release": "v2"}),
            )
        })
        .collect();
    for index in 0..3 {
        let address = |name: &str| format!("aws_instance.{name}[{index}]");
        let values = json!({"ami": "ami-0abc"});
        let mut moved = change(&address("moved"), &json!(["no-op"]), &values, &values);
        moved["previous_address"] = json!(address("old"));
        documents.push(moved);
        let mut imported = change(&address("imported"), &json!(["no-op"]), &values, &values);
        imported["change"]["importing"] = json!({"id": format!("i-{index}")});
        documents.push(imported);
        let mut deposed = change(&address("moved"), &json!(["delete"]), &values, &Value::Null);
        deposed["deposed"] = json!(format!("0000000{index}"));
        documents.push(deposed);
    }
    for (address, reason) in [
        ("aws_iam_user.gone", "delete_because_no_resource_config"),
        ("aws_iam_user.team[\"x\"]", "delete_because_each_key"),
    ] {
        let mut user = change(address, &json!(["delete"]), &json!({"path": "/"}), &Value::Null);
        user["action_reason"] = json!(reason);
        documents.push(user);
    }
    document(&documents, &[], &json!({}))
}

/// The address of the rule in [`plan_with_differing_members`] that differs from the others, and its value.
pub const ODD_RULE: (&str, &str) = ("aws_security_group_rule.rule[17]", "0.0.0.0/0");

fn invocation(address: &str, trigger: Option<(&str, &str)>, values: &Value) -> Value {
    let mut document = json!({
        "address": address,
        "provider_name": "registry.terraform.io/hashicorp/aws",
        "config_values": values,
        "config_unknown": {},
        "config_sensitive": {},
    });
    match trigger {
        Some((object, event)) => {
            document["lifecycle_action_trigger"] =
                json!({"triggering_resource_address": object, "action_trigger_event": event});
        }
        None => document["invoke_action_trigger"] = json!({}),
    }
    document
}

/// Returns a plan with a number of changes of several kinds. One of them is dangerous, and half of a
/// percent destroy objects without content.
pub fn large(changes: usize) -> String {
    let mut documents = vec![change(
        "module.storage.aws_s3_bucket.audit",
        &json!(["delete"]),
        &json!({"bucket": "audit-log", "force_destroy": true, "versioning": [{"enabled": true}]}),
        &Value::Null,
    )];
    while documents.len() < changes {
        let index = documents.len();
        let address = |name: &str| format!("module.service[\"s{}\"].{name}[{index}]", index % 97);
        documents.push(match index % 200 {
            0 => change(
                &address("null_resource.marker"),
                &json!(["delete"]),
                &json!({"id": index.to_string(), "triggers": null}),
                &Value::Null,
            ),
            1..=80 => change(
                &address("aws_instance.node"),
                &json!(["update"]),
                &instance(index, "ami-0abc", "v1"),
                &instance(index, "ami-0abc", "v2"),
            ),
            81..=120 => created(&address("aws_route53_record.name"), &record(index)),
            121..=160 => change(
                &address("aws_security_group.group"),
                &json!(["update"]),
                &json!({"name": format!("g{index}"), "ingress": [{"port": 80, "cidr": "10.0.0.0/8"}]}),
                &json!({"name": format!("g{index}"), "ingress": [{"port": 443, "cidr": "10.0.0.0/8"}]}),
            ),
            _ => created(&address("aws_instance.new"), &instance(index, "ami-0def", "v2")),
        });
    }
    document(&documents, &[], &json!({}))
}

fn small() -> String {
    let mut destroyed = change(
        "aws_db_instance.main",
        &json!(["delete"]),
        &json!({"identifier": "orders", "engine": "postgres", "allocated_storage": 500, "password": "hunter2"}),
        &Value::Null,
    );
    destroyed["action_reason"] = json!("delete_because_no_resource_config");
    destroyed["change"]["before_sensitive"] = json!({"password": true});
    let documents = [
        created("aws_route53_record.www", &record(1)),
        change(
            "aws_instance.web",
            &json!(["update"]),
            &instance(1, "ami-0abc", "v1"),
            &instance(1, "ami-0abc", "v2"),
        ),
        destroyed,
    ];
    document(&documents, &[], &json!({}))
}

fn many_instances() -> String {
    let mut documents: Vec<Value> = (0..300)
        .map(|index| {
            change(
                &format!("aws_instance.node[{index}]"),
                &json!(["update"]),
                &instance(index, "ami-0abc", "v1"),
                &instance(index, "ami-0abc", "v2"),
            )
        })
        .collect();
    let mut volume = change(
        "aws_ebs_volume.data[\"archive\"]",
        &json!(["delete"]),
        &json!({"size": 4000, "type": "gp3", "tags": {"Name": "archive"}}),
        &Value::Null,
    );
    volume["action_reason"] = json!("delete_because_each_key");
    documents.insert(150, volume);
    document(
        &documents,
        &[],
        &json!({"root_module": {"resources": [
            {"address": "aws_instance.node", "expressions": {"tags": {"references": ["var.release"]}}},
            {"address": "aws_ebs_volume.data", "for_each_expression": {"references": ["var.volumes"]}}
        ]}}),
    )
}

fn cascade() -> String {
    let replaced = |address: &str, attribute: &str, old: &str, new: Option<&str>| {
        let mut document = change(
            address,
            &json!(["delete", "create"]),
            &json!({"id": format!("{address}-1"), attribute: old, "tags": {"team": "core"}}),
            &json!({"tags": {"team": "core"}}),
        );
        document["change"]["after_unknown"] = json!({"id": true});
        match new {
            Some(new) => document["change"]["after"][attribute] = json!(new),
            None => document["change"]["after_unknown"][attribute] = json!(true),
        }
        document["change"]["replace_paths"] = json!([[attribute]]);
        document["action_reason"] = json!("replace_because_cannot_update");
        document
    };
    let mut documents = Vec::new();
    for index in 0..4 {
        documents.push(replaced(&format!("aws_subnet.private[{index}]"), "vpc_id", "vpc-1", None));
    }
    for index in 0..24 {
        documents.push(replaced(&format!("aws_instance.app[{index}]"), "subnet_id", "subnet-1", None));
    }
    documents.push(replaced("aws_lb.front", "subnets", "subnet-1", None));
    documents.push(replaced("aws_vpc.main", "cidr_block", "10.0.0.0/16", Some("10.8.0.0/16")));
    document(
        &documents,
        &[],
        &json!({"root_module": {"resources": [
            {"address": "aws_vpc.main", "expressions": {"cidr_block": {"references": ["var.cidr"]}}},
            {"address": "aws_subnet.private", "expressions": {
                "vpc_id": {"references": ["aws_vpc.main.id", "aws_vpc.main"]}}},
            {"address": "aws_instance.app", "expressions": {
                "subnet_id": {"references": ["aws_subnet.private[0].id", "aws_subnet.private[0]", "aws_subnet.private"]}}},
            {"address": "aws_lb.front", "expressions": {
                "subnets": {"references": ["aws_subnet.private"]}}}
        ]}}),
    )
}

fn drift() -> String {
    let mut documents = Vec::new();
    let mut drift = Vec::new();
    for index in 0..40 {
        let address = format!("aws_security_group_rule.rule[{index}]");
        let planned = json!({"cidr": "10.0.0.0/8", "port": 443});
        let found = json!({"cidr": "0.0.0.0/0", "port": 443});
        documents.push(change(&address, &json!(["update"]), &found, &planned));
        drift.push(change(&address, &json!(["update"]), &planned, &found));
    }
    let (planned, found) = (
        json!({"engine_version": "15", "name": "orders"}),
        json!({"engine_version": "16", "name": "orders"}),
    );
    let mut database = change("aws_db_instance.orders", &json!(["delete", "create"]), &found, &planned);
    database["change"]["replace_paths"] = json!([["engine_version"]]);
    database["action_reason"] = json!("replace_because_cannot_update");
    documents.push(database);
    drift.push(change("aws_db_instance.orders", &json!(["update"]), &planned, &found));
    drift.push(change("aws_iam_user.ops", &json!(["delete"]), &json!({"name": "ops"}), &Value::Null));
    documents.push(created("aws_iam_user.ops", &json!({"name": "ops"})));
    document(&documents, &drift, &json!({}))
}

fn document(changes: &[Value], drift: &[Value], configuration: &Value) -> String {
    json!({
        "format_version": "1.2",
        "terraform_version": "1.11.4",
        "resource_drift": drift,
        "resource_changes": changes,
        "configuration": configuration,
        "timestamp": "2026-01-01T00:00:00Z",
        "applyable": true,
        "complete": true,
        "errored": false,
    })
    .to_string()
}

fn change(address: &str, actions: &Value, before: &Value, after: &Value) -> Value {
    json!({
        "address": address,
        "mode": "managed",
        "provider_name": "registry.terraform.io/hashicorp/aws",
        "change": {
            "actions": actions, "before": before, "after": after, "after_unknown": {},
            "before_sensitive": {}, "after_sensitive": {}
        },
    })
}

fn created(address: &str, after: &Value) -> Value {
    let mut document = change(address, &json!(["create"]), &Value::Null, after);
    document["change"]["after_unknown"] = json!({"id": true, "arn": true});
    document
}

fn instance(index: usize, image: &str, release: &str) -> Value {
    json!({
        "ami": image,
        "instance_type": "m7g.large",
        "private_ip": format!("10.{}.{}.{}", index / 65536, index / 256 % 256, index % 256),
        "tags": {"Name": format!("node-{index}"), "release": release},
        "root_block_device": [{"volume_size": 20, "volume_type": "gp3"}],
        "user_data": null,
    })
}

fn record(index: usize) -> Value {
    json!({"name": format!("n{index}.example.com"), "type": "A", "ttl": 300, "records": ["192.0.2.1"]})
}
