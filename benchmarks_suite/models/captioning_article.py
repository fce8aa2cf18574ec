"""The captioning model of the article *Accelerating PyTorch training with torch.compile*, as there.

captioning.py's model with what its experiment adds: captions of 5 to 256 words, padded, with the
decoder's attention mask. 90% have up to 32 words, 9% up to 64, 1% up to 256. In the static profile
all are padded to 256; in the dynamic one to the longest of their batch, rounded up to a multiple
of 8; in the bucketed one to one of eight lengths.
"""

from dataclasses import replace

import torch
from torch import Tensor

from benchmarks_suite.models import captioning
from benchmarks_suite.models._text import PAD, labels_of
from benchmarks_suite.workload import Inputs, Workload

ALIGNMENT = 8
LONGEST = {"smoke": 32, "standard": 256}
# (share of the captions up to here, words from, to)
MIXTURE = ((0.90, 5, 32), (0.99, 33, 64), (1.0, 65, 256))


def build(size: str, mode: str, shapes: str, batch_size: int) -> Workload:
    workload = captioning.build(size, mode, "static", batch_size)
    vocabulary, longest = captioning.DECODERS[size]["vocab_size"], LONGEST[size]

    def inputs(index: int, generator: torch.Generator) -> Inputs:
        batch = dict(workload.inputs(index, generator))
        words = _words(generator, batch_size).clamp(max=longest)  # (batch,)
        length = _padded(int(words.max()), shapes, longest)
        if shapes == "dynamic" and length == batch_size:
            length += (
                ALIGNMENT  # else Dynamo may take the length for the batch, and make it a constant
            )
        ids = torch.randint(1, vocabulary, (batch_size, length), generator=generator)
        mask = torch.arange(length)[None, :] < words[:, None]  # (batch, length)
        ids = ids.masked_fill(~mask, PAD)
        batch |= {"decoder_input_ids": ids, "decoder_attention_mask": mask.long()}
        if mode == "training":
            batch["labels"] = labels_of(ids)
        return batch

    axes = {**workload.axes, "decoder_attention_mask": ("batch", "length")}
    return replace(workload, inputs=inputs, axes=axes)


def _words(generator: torch.Generator, captions: int) -> Tensor:
    """The number of words of each caption, (captions,)."""
    words = torch.empty(captions, dtype=torch.long)
    for index, quantile in enumerate(torch.rand(captions, generator=generator).tolist()):
        _, low, high = next(row for row in MIXTURE if quantile < row[0])
        words[index] = torch.randint(low, high + 1, (), generator=generator)
    return words


def _padded(length: int, shapes: str, longest: int) -> int:
    if shapes == "static":
        return longest
    if shapes == "bucketed":
        return next(bucket for bucket in captioning.BUCKETS if bucket >= length)
    return -(-length // ALIGNMENT) * ALIGNMENT
