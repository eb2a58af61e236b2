import unittest

from wardian_sdk import STRING, UNKNOWN, Block, Schema, list_of, nested, number, string
from wardian_sdk.diagnostics import Diagnostic, ProviderError, diagnostic_of
from wardian_sdk.plan import plan_change
from wardian_sdk.stored import from_json, parse_json
from wardian_sdk.value_types import NUMBER, ObjectType

DISK = {"name": string(required=True), "size": number(default=8), "serial": string(computed=True)}
SERVER = Schema(
    attributes={
        "name": string(required=True, force_new=True),
        "id": string(computed=True, stable=True),
        "address": string(computed=True),
        "disks": nested("set", DISK, optional=True),
    },
    blocks={"rule": Block("list", Schema(attributes={"port": number(required=True, force_new=True)}))},
)
CONFIG = {
    "name": "a",
    "id": None,
    "address": None,
    "disks": [{"name": "x", "size": None, "serial": None}],
    "rule": [{"port": 1}],
}


class Plan(unittest.TestCase):
    def test_create_sets_defaults_and_unknown_values(self):
        planned, requires_replace = plan_change(SERVER, CONFIG, None, CONFIG)
        disks = [{"name": "x", "size": 8, "serial": UNKNOWN}]
        self.assertEqual(planned, {**CONFIG, "id": UNKNOWN, "address": UNKNOWN, "disks": disks})
        self.assertEqual(requires_replace, [])

    def test_update_keeps_stable_values(self):
        prior = {**CONFIG, "id": "1", "address": "b", "disks": [{"name": "x", "size": 8, "serial": "s"}]}
        self.assertEqual(plan_change(SERVER, CONFIG, prior, prior), (prior, []))
        config = {**CONFIG, "name": "b", "rule": [{"port": 2}]}
        planned, requires_replace = plan_change(SERVER, config, prior, {**prior, "name": "b", "rule": [{"port": 2}]})
        self.assertEqual((planned["id"], planned["address"]), ("1", UNKNOWN))
        self.assertEqual(requires_replace, [("name",), ("rule", 0, "port")])

    def test_contradictory_schemas_are_rejected(self):
        contradictory = [
            string(),
            string(required=True, computed=True),
            string(required=True, default="a"),
            string(optional=True, computed=True, write_only=True),
            nested("list", {"inner": string()}, optional=True),
        ]
        for attribute in contradictory:
            with self.assertRaises(TypeError):
                Schema(attributes={"a": attribute})
        with self.assertRaisesRegex(TypeError, "not the name"):
            Schema(attributes={"A-b": string(optional=True)})
        with self.assertRaisesRegex(TypeError, "both"):
            Schema(attributes={"a": list_of(STRING, optional=True)}, blocks={"a": Block("list", Schema())})


class Stored(unittest.TestCase):
    def test_json_is_parsed_without_loss_of_precision(self):
        state = from_json(parse_json(b'{"a":12345678901234567890,"b":"7"}'), ObjectType({"a": NUMBER, "b": NUMBER}))
        self.assertEqual(state, {"a": 12345678901234567890, "b": 7})
        for content in (b"{", b"[" * 100_000, b'{"a": NaN}'):
            with self.assertRaises(ValueError):
                from_json(parse_json(content), ObjectType({"a": NUMBER}))

    def test_states_that_do_not_fit_are_rejected(self):
        for document in ({"b": 1}, {"a": [1]}, [1], {"a": "x"}):
            with self.assertRaises(ValueError):
                from_json(document, ObjectType({"a": NUMBER}))


class Errors(unittest.TestCase):
    def test_traceback_is_in_the_detail(self):
        try:
            raise KeyError("a")
        except KeyError as error:
            diagnostic = diagnostic_of(error, "testing")
        self.assertEqual(diagnostic.summary, "Unexpected exception while testing")
        self.assertIn("test_traceback_is_in_the_detail", diagnostic.detail)

    def test_provider_error_is_shown_as_it_is(self):
        error = ProviderError("Summary", "Detail.", ("a", 0))
        self.assertEqual(diagnostic_of(error, "testing"), Diagnostic("error", "Summary", "Detail.", ("a", 0)))
