"""``@@name@@_note``: a resource with a computed attribute.

Replace the bodies of ``create``, ``update`` and ``import_state`` with requests to your service
(``wardian_sdk.http``), and add ``read`` and ``delete``.
"""

from wardian_sdk import Context, Resource, Schema, State, string

MAX_TITLE_LENGTH = 80


def validate_title(title: str) -> str | None:
    """Returns the requirement that a title does not meet."""
    return None if 1 <= len(title) <= MAX_TITLE_LENGTH else "must have 1 to 80 characters"


def note_id(title: str) -> str:
    return f"note-{title}"


class Note(Resource):
    def schema(self) -> Schema:
        return Schema(
            description="A note.",
            attributes={
                "title": string(
                    required=True,
                    force_new=True,
                    validators=(validate_title,),
                    description="The title. Changing it replaces the note.",
                ),
                "text": string(default="", description="The text. Empty by default."),
                "id": string(
                    computed=True, stable=True, description="The ID, which is derived from the title."
                ),
            },
        )

    def create(self, planned: State, context: Context) -> State:
        return {**planned, "id": note_id(planned["title"])}

    def update(self, prior: State, planned: State, context: Context) -> State:
        return planned

    def import_state(self, object_id: str, context: Context) -> State:
        return {"title": object_id, "text": "", "id": note_id(object_id)}
