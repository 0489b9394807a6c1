"""The operators; what they compute is in findings.py."""
import fiftyone as fo
import fiftyone.operators as foo
from fiftyone.operators import types

from .findings import FIELDS, TAG, flatten, label_mistakes, unflatten


def _is_kind(field, kinds):
    return isinstance(field, kinds) or getattr(field, "document_type", None) in kinds


def _fields(ctx, *kinds):
    """Names of the sample fields of these kinds."""
    return [name for name, field in ctx.dataset.get_field_schema().items() if _is_kind(field, kinds)]


def _patches(ctx):
    """The path of the detections in the chosen field; None where it holds one label for each sample."""
    labels = ctx.params.get("labels")
    return f"{labels}.detections" if labels in _fields(ctx, fo.Detections) else None


def _embedding_fields(ctx):
    """Names of the fields with a vector for each sample, or of each detection where those are judged."""
    patches, kinds = _patches(ctx), (fo.VectorField, fo.ArrayField)
    if patches is None:
        return _fields(ctx, *kinds)
    schema = ctx.dataset.get_field(patches).field.get_field_schema()
    return [name for name, field in schema.items() if _is_kind(field, kinds)]


def _choose(inputs, name, label, description, values):
    choices = types.AutocompleteView(label=label, description=description)
    for value in values:
        choices.add_choice(value, label=value)
    inputs.enum(name, choices.values(), required=True, view=choices)


class _Operator(foo.Operator):
    written = tuple(FIELDS)  # what of the findings goes onto the samples

    def resolve_input(self, ctx):
        inputs = types.Object()
        _choose(inputs, "labels", "Labels", "Field of the labels to judge",
                _fields(ctx, fo.Classification, fo.Detections))
        _choose(inputs, "embeddings", "Embeddings", "Field with a vector for each sample, or for each detection",
                _embedding_fields(ctx))
        for name in self.written:
            inputs.str(f"{name}_field", label=f"Field for {name}", default=FIELDS[name],
                       description="It is made, or written anew")
        self.add_inputs(inputs)
        inputs.view_target(ctx)
        return types.Property(inputs, view=types.View(label=self.config.label))

    def add_inputs(self, inputs):
        """For operators that ask for more."""

    def find(self, ctx, **options):
        """Judges the labels and writes the fields; returns the view, the ids of what is flagged, and what to say."""
        view, patches = ctx.target_view(), _patches(ctx)
        place = ctx.params["labels"] if patches is None else patches
        vectors = ctx.params["embeddings"] if patches is None else f"{patches}.{ctx.params['embeddings']}"
        embeddings, labels, ids = view.values([vectors, f"{place}.label", "id" if patches is None else f"{patches}.id"])
        nested, groups = ids, None
        if patches is not None:
            ids, groups = flatten(nested)
            embeddings, labels = flatten(embeddings)[0], flatten(labels)[0]
        found, flagged, text = label_mistakes(embeddings, labels, groups, **options)
        for name in self.written:
            field = ctx.params.get(f"{name}_field") or FIELDS[name]
            if patches is None:
                view.set_values(field, found[name])
            else:
                view.set_values(f"{patches}.{field}", unflatten(found[name], nested), dynamic=True)
        ctx.trigger("reload_dataset")
        return view, [ids[row] for row in flagged], text

    def resolve_output(self, ctx):
        outputs = types.Object()
        for name, label in (("samples", "Labels judged"), ("flagged", "Flagged labels")):
            outputs.int(name, label=label)
        outputs.float("noise_rate", label="Share of labels that look wrong")
        outputs.float("difficulty", label="Difficulty (0: trivial, 1: no better than chance)")
        outputs.str("hardest", label="Hardest classes")
        outputs.str("confused", label="Most confused classes")
        return types.Property(outputs, view=types.View(label=self.config.label))


class FindLabelMistakes(_Operator):
    @property
    def config(self):
        return foo.OperatorConfig(
            name="find_label_mistakes",
            label="rer: find label mistakes",
            description="Probability that each label is wrong, a suggestion where it is, and a tag",
            dynamic=True,
            allow_delegated_execution=True,
        )

    def add_inputs(self, inputs):
        inputs.str("budget", label="Flag", default="auto", description="auto, or exactly N labels, or P%")
        inputs.str("tag", label="Tag", default=TAG, description="For flagged samples or detections")

    def execute(self, ctx):
        tag = ctx.params.get("tag") or TAG
        view, flagged, text = self.find(ctx, budget=ctx.params.get("budget") or "auto")
        if _patches(ctx) is None:
            view.untag_samples(tag)
            if flagged:
                view.select(flagged).tag_samples(tag)
        else:
            field = ctx.params["labels"]
            view.untag_labels(tag, label_fields=field)
            if flagged:
                view.select_labels(ids=flagged, fields=field).tag_labels(tag, label_fields=field)
        return text


class Difficulty(_Operator):
    written = ("rer",)

    @property
    def config(self):
        return foo.OperatorConfig(
            name="difficulty",
            label="rer: difficulty",
            description="How hard the data set, its classes and each of its samples are",
            dynamic=True,
            allow_delegated_execution=True,
        )

    def execute(self, ctx):
        return self.find(ctx)[2]


def register(plugin):
    plugin.register(FindLabelMistakes)
    plugin.register(Difficulty)
