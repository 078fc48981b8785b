"""What the page says of the verifiers in words; figures stand where the braces are."""

HEAD = """\
## Verification

Whether two files compute the same, asked of every verifier: {pairs} pairs of a real model and of what a tool made of
it, or of the same model with a fault. A verifier that says yes claims what stands in the last column, and no more:

| verifier | what is run | what a yes claims |
| --- | --- | --- |
{claims}

![What each verifier says of the same pairs]({picture})

Into {faults} copies a fault is planted, each at the first place where it shows in the outputs by far more than a
tolerance hides; names, types and sizes of inputs and outputs stay as they are:

{kinds}

Right or wrong is judged by runs that no verifier has a part in: onnxruntime without optimizations, or LiteRT's
reference kernels, on uniform and normal inputs at the sizes that the model is used at, with each free size doubled, and
with all of them 1 and 2, as far as the original runs there.
A *yes* is wrong where an output is apart by more than the verifier allows, *different* is wrong where all outputs have
the same bits; *undecided* is never wrong, nor is *failed*: a crash, an error, or more than {limit} seconds. The
verifiers that take sizes are given those that the model is used at, and the sampling rate where it is an input.

Each answer is that of whole processes, run once, in turns whose order rotates, {lanes} models at a time on a core each;
what polygraphy needs of the original is run once a model and counted in each pair. Pairs of the same two files are
asked once: seconds are those of the {distinct} pairs that are left (on {day}).
"""
