"""``@@name@@_greeting``: a data source."""

from wardian_sdk import Context, DataSource, Schema, State, string


def validate_name(name: str) -> str | None:
    """Returns the requirement that a name does not meet."""
    return None if name else "must not be empty"


class Greeting(DataSource):
    def schema(self) -> Schema:
        return Schema(
            description="A greeting.",
            attributes={
                "name": string(
                    required=True,
                    validators=(validate_name,),
                    description="The name of the person to greet.",
                ),
                "text": string(computed=True, description="The greeting."),
            },
        )

    def read(self, config: State, context: Context) -> State:
        return {**config, "text": f"Hello, {config['name']}!"}
