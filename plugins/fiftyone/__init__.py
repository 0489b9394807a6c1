"""The operators; what they compute is in findings.py."""
import fiftyone as fo
import fiftyone.operators as foo
from fiftyone.operators import types

from .findings import TAG, difficulty, label_mistakes


def _fields(ctx, *kinds):
    """Names of the sample fields of these kinds."""
    schema = ctx.dataset.get_field_schema()
    return [
        name
        for name, field in schema.items()
        if isinstance(field, kinds) or getattr(field, "document_type", None) in kinds
    ]


def _choose(inputs, name, label, description, values):
    choices = types.AutocompleteView(label=label, description=description)
    for value in values:
        choices.add_choice(value, label=value)
    inputs.enum(name, choices.values(), required=True, view=choices)


class _Operator(foo.Operator):
    def resolve_input(self, ctx):
        inputs = types.Object()
        _choose(inputs, "labels", "Labels", "Field of the labels to judge", _fields(ctx, fo.Classification))
        _choose(inputs, "embeddings", "Embeddings", "Field with a vector for each sample",
                _fields(ctx, fo.VectorField, fo.ArrayField))
        self.add_inputs(inputs)
        inputs.view_target(ctx)
        return types.Property(inputs, view=types.View(label=self.config.label))

    def add_inputs(self, inputs):
        """For operators that ask for more."""

    def values(self, ctx):
        view = ctx.target_view()
        embeddings, labels = view.values([ctx.params["embeddings"], f"{ctx.params['labels']}.label"])
        return view, embeddings, labels

    def resolve_output(self, ctx):
        outputs = types.Object()
        for name, label in (("samples", "Samples"), ("flagged", "Flagged labels")):
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

    def execute(self, ctx):
        view, embeddings, labels = self.values(ctx)
        budget = ctx.params.get("budget") or "auto"
        fields, flagged, text = label_mistakes(embeddings, labels, budget=budget)
        for name, values in fields.items():
            view.set_values(name, values)
        view.untag_samples(TAG)
        ids = view.values("id")
        if flagged:
            view.select([ids[row] for row in flagged]).tag_samples(TAG)
        ctx.trigger("reload_dataset")
        return text


class Difficulty(_Operator):
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
        view, embeddings, labels = self.values(ctx)
        fields, text = difficulty(embeddings, labels)
        view.set_values("rer", fields["rer"])
        ctx.trigger("reload_dataset")
        return text


def register(plugin):
    plugin.register(FindLabelMistakes)
    plugin.register(Difficulty)
