"""The provider ``inventory``. The same provider exists in Rust, Go and JavaScript."""

import logging
import re
from typing import Any

from wardian_sdk import (
    DYNAMIC,
    NUMBER,
    STRING,
    ArgumentError,
    Block,
    Context,
    DataSource,
    Diagnostic,
    DynamicValue,
    Parameter,
    Provider,
    ProviderError,
    ProviderFunction,
    Resource,
    Schema,
    State,
    boolean,
    dynamic,
    http,
    is_unknown,
    list_of,
    map_of,
    nested,
    number,
    run,
    set_of,
    shared,
    string,
    type_to_json,
)

#: The most units that the warehouse stores.
CAPACITY = 1000

log = logging.getLogger("inventory")


def slug(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")


def not_negative(quantity: Any) -> str | None:
    return "must not be negative" if quantity < 0 else None


class Item(Resource):
    def schema(self) -> Schema:
        size = {
            "width": number(required=True, description="The width."),
            "height": number(required=True, description="The height."),
            "unit": string(default="cm", description="The unit of both lengths."),
            "area": number(computed=True, description="The product of both lengths."),
        }
        part = Schema(
            attributes={
                "name": string(required=True, description="The name of the part."),
                "count": number(optional=True, description="The number of parts of each unit."),
            }
        )
        return Schema(
            version=1,
            description="An item of the inventory.",
            attributes={
                "name": string(
                    required=True, force_new=True, description="The name, from which the ID is derived."
                ),
                "quantity": number(
                    default=1, validators=(not_negative,), description="The number of units."
                ),
                "price": number(optional=True, description="The price of a unit."),
                "tags": map_of(STRING, optional=True, description="Labels with values."),
                "groups": set_of(STRING, optional=True, description="The groups of the item."),
                "size": nested("single", size, optional=True, description="The size of the item."),
                "note": dynamic(optional=True, description="A value of any type."),
                "supplier": string(
                    optional=True, sensitive=True, description="The supplier, which is confidential."
                ),
                "pin": string(
                    optional=True, write_only=True, description="The PIN of the shelf, which is not stored."
                ),
                "id": string(computed=True, stable=True, description="The ID."),
                "total": number(computed=True, description="The number of units, including the parts."),
                "locked": boolean(computed=True, description="Whether the shelf has a PIN."),
            },
            blocks={"part": Block("list", part)},
        )

    def validate(self, config: State, context: Context) -> None:
        if config["price"] == 0:
            context.report(Diagnostic.warning("The item is free", "Its price is zero.", ("price",)))

    def create(self, planned: State, context: Context) -> State:
        if planned["name"] == "broken":
            raise RuntimeError("the shelf is broken")
        state = self._stored(planned, context)
        log.info("item stored", extra={"id": state["id"]})
        if planned["name"] == "slow":
            context.save_partial(state)
            if run.sleep(600):
                raise ProviderError(
                    "Interrupted", "The operation ended early because the run is interrupted."
                )
        if planned["quantity"] > CAPACITY:
            context.save_partial({**state, "quantity": CAPACITY, "total": CAPACITY})
            raise ProviderError("The warehouse is full", f"Only {CAPACITY} units were stored.", ("quantity",))
        return state

    def update(self, prior: State, planned: State, context: Context) -> State:
        return self._stored(planned, context)

    def import_state(self, object_id: str, context: Context) -> State:
        _, _, name = object_id.partition("-")
        if not name:
            raise ProviderError("Invalid ID", f'"{object_id}" is not PREFIX-NAME.')
        return {"id": object_id, "name": name, "quantity": 1, "total": 1, "locked": False, "part": []}

    def upgraders(self) -> dict[int, Any]:
        # Version 0 has `count` instead of `quantity`, and no `locked`.
        def from_count(state: Any) -> Any:
            quantity = state.pop("count")
            return {**state, "quantity": quantity, "locked": False, "part": state.get("part", [])}

        return {0: from_count}

    def _stored(self, planned: State, context: Context) -> State:
        parts = sum(1 if part["count"] is None else part["count"] for part in planned["part"])
        state = {
            **planned,
            "total": planned["quantity"] * (1 + parts),
            "locked": context.config["pin"] is not None,
        }
        if is_unknown(planned["id"]):
            state["id"] = f"{context.client}-{slug(planned['name'])}"
        if planned["size"] is not None:
            size = planned["size"]
            state["size"] = {**size, "area": size["width"] * size["height"]}
        return state


class Lookup(DataSource):
    def schema(self) -> Schema:
        return Schema(
            description="The IDs of items.",
            attributes={
                "names": list_of(STRING, required=True, description="The names of the items."),
                "ids": map_of(STRING, computed=True, description="The ID of each name."),
                "found": number(computed=True, description="The number of names."),
            },
        )

    def read(self, config: State, context: Context) -> State:
        names = config["names"]
        ids = {name: f"{context.client}-{slug(name)}" for name in names}
        return {"names": names, "ids": ids, "found": len(names)}


class Document(DataSource):
    def schema(self) -> Schema:
        return Schema(
            description="A document of a server.",
            attributes={
                "url": string(required=True, description="The address."),
                "status": number(computed=True, description="The status of the response."),
                "kind": string(computed=True, description="The content type."),
                "body": string(computed=True, description="The text."),
            },
        )

    def read(self, config: State, context: Context) -> State:
        url = config["url"]
        try:
            response = http.request("GET", url, headers={"accept": "text/plain"})
            kind = response.headers.get("content-type")
            return {"url": url, "status": response.status, "kind": kind, "body": response.text()}
        except http.HttpError as error:
            raise ProviderError("The document could not be read", error.reason, ("url",)) from error


class Ticket(DataSource):
    def schema(self) -> Schema:
        return Schema(
            description="The next number of a queue, which begins in each run.",
            attributes={
                "queue": string(required=True, description="The name of the queue."),
                "number": number(computed=True, description="The number."),
            },
        )

    def read(self, config: State, context: Context) -> State:
        shared.RateLimiter("tickets", events=1000, burst=100).wait()
        key = f"queue/{config['queue']}"
        with shared.lock(key):
            last = shared.get(key)
            following = 1 if last is None else last.value + 1
            expected = shared.ABSENT if last is None else shared.version(last.version)
            if shared.put(key, following, expected) is None:
                raise ProviderError("The queue has changed", config["queue"])
            return {**config, "number": following}


def call_slug(text: str) -> str:
    result = slug(text)
    if not result:
        raise ArgumentError(0, "the text contains no letter and no digit")
    return result


def call_total(*numbers: int) -> int:
    return sum(numbers)


def call_describe(value: Any) -> str:
    return type_to_json(value.type) if isinstance(value, DynamicValue) else "null"


inventory = Provider(
    schema=Schema(
        description="A provider that needs no service.",
        attributes={
            "prefix": string(optional=True, description="The prefix of each ID; by default `item`.")
        },
    ),
    configure=lambda config, context: config["prefix"] or "item",
    resources={"inventory_item": Item()},
    data_sources={
        "inventory_lookup": Lookup(),
        "inventory_document": Document(),
        "inventory_ticket": Ticket(),
    },
    functions={
        "slug": ProviderFunction(
            summary="Converts a name to a part of an ID.",
            parameters=[Parameter("text", STRING, description="The name.")],
            returns=STRING,
            call=call_slug,
        ),
        "total": ProviderFunction(
            summary="Adds integers of any size.",
            variadic=Parameter("numbers", NUMBER, description="The integers."),
            returns=NUMBER,
            call=call_total,
        ),
        "describe": ProviderFunction(
            summary="Describes a value of any type.",
            parameters=[Parameter("value", DYNAMIC, description="The value.")],
            returns=STRING,
            call=call_describe,
        ),
    },
)
