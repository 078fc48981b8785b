"""Heads of detectors: grids of points, boxes decoded, queries with sines of masked positions, and their losses."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn import functional

from models.exporting.feeds import Feed, bools, ids, numbers
from models.exporting.from_pytorch.case import Case, Writing, dynamo, legacy

_FREE = (
    {"batch": 2, "height": 32, "width": 48, "count": 4, "truths": 3},
    {"batch": 3, "height": 64, "width": 32, "count": 6, "truths": 5},
)


class YoloAnchors(nn.Module):
    """YOLO with anchors: each cell's boxes decoded against a grid that is as large as the features."""

    def __init__(self, classes: int = 3) -> None:
        super().__init__()
        self.stages = nn.ModuleList([nn.Conv2d(3, 8, 5, 8, 2), nn.Conv2d(8, 12, 3, 2, 1)])
        self.heads = nn.ModuleList([nn.Conv2d(8, 2 * (classes + 5), 1), nn.Conv2d(12, 2 * (classes + 5), 1)])
        self.register_buffer("anchors", torch.tensor([[[10.0, 13], [16, 30]], [[30, 61], [62, 45]]]))
        self.outputs = classes + 5

    def forward(self, image: Tensor) -> Tensor:
        x, found = image, []
        for level, (stage, head) in enumerate(zip(self.stages, self.heads, strict=True)):
            x = functional.silu(stage(x))
            y = head(x)
            b, _, ny, nx = y.shape
            y = y.view(b, 2, self.outputs, ny, nx).permute(0, 1, 3, 4, 2).contiguous().sigmoid()
            yv, xv = torch.meshgrid(torch.arange(ny, device=y.device), torch.arange(nx, device=y.device), indexing="ij")
            grid = torch.stack((xv, yv), 2).expand((1, 2, ny, nx, 2)).float()
            sizes = self.anchors[level].view(1, 2, 1, 1, 2).expand((1, 2, ny, nx, 2))
            xy, wh, confidence = y.split((2, 2, self.outputs - 4), 4)
            xy = (xy * 2.0 - 0.5 + grid) * (8 << level)
            y = torch.cat((xy, (wh * 2) ** 2 * sizes, confidence), 4)
            found.append(y.view(b, -1, self.outputs))
        return torch.cat(found, 1)


class YoloFree(nn.Module):
    """YOLO without anchors: distances as a distribution over bins, from points of all levels and their strides."""

    def __init__(self, classes: int = 3, bins: int = 4) -> None:
        super().__init__()
        self.bins, self.classes = bins, classes
        self.stages = nn.ModuleList([nn.Conv2d(3, 8, 5, 8, 2), nn.Conv2d(8, 8, 3, 2, 1)])
        self.heads = nn.ModuleList(nn.Conv2d(8, 4 * bins + classes, 1) for _ in range(2))
        self.register_buffer("project", torch.arange(bins, dtype=torch.float32))

    def forward(self, image: Tensor) -> tuple[Tensor, Tensor]:
        x, flat, points, strides = image, [], [], []
        for level, (stage, head) in enumerate(zip(self.stages, self.heads, strict=True)):
            x = functional.silu(stage(x))
            h, w = x.shape[-2:]
            sx = torch.arange(end=w, dtype=x.dtype) + 0.5
            sy = torch.arange(end=h, dtype=x.dtype) + 0.5
            sy, sx = torch.meshgrid(sy, sx, indexing="ij")
            points.append(torch.stack((sx, sy), -1).view(-1, 2))
            strides.append(torch.full((h * w, 1), 8.0 * (1 << level), dtype=x.dtype))
            flat.append(head(x).flatten(2))
        boxes, scores = torch.cat(flat, 2).split((4 * self.bins, self.classes), 1)
        b, _, a = boxes.shape
        spread = boxes.view(b, 4, self.bins, a).transpose(2, 1).softmax(1)
        distances = (spread * self.project.view(1, -1, 1, 1)).sum(1)
        lt, rb = distances.chunk(2, 1)
        centers = torch.cat(points).transpose(0, 1).unsqueeze(0)
        x1y1, x2y2 = centers - lt, centers + rb
        placed = torch.cat(((x1y1 + x2y2) / 2, x2y2 - x1y1), 1) * torch.cat(strides).transpose(0, 1)
        return placed, scores.sigmoid()


class Fcos(nn.Module):
    """FCOS: distances from each point, kept inside the image; a scale that is learned; center-ness times class."""

    def __init__(self) -> None:
        super().__init__()
        self.stem, self.norm = nn.Conv2d(3, 8, 5, 8, 2), nn.GroupNorm(2, 8)
        self.classes, self.boxes, self.center = (nn.Conv2d(8, n, 3, 1, 1) for n in (3, 4, 1))
        self.scale = nn.Parameter(torch.ones(1))

    def forward(self, image: Tensor) -> tuple[Tensor, Tensor]:
        x = functional.relu(self.norm(self.stem(image)))
        b, _, h, w = x.shape
        distances = functional.relu(self.boxes(x) * self.scale) * 8
        ys = torch.arange(0, h * 8, step=8, dtype=torch.float32) + 4
        xs = torch.arange(0, w * 8, step=8, dtype=torch.float32) + 4
        ys, xs = torch.meshgrid(ys, xs, indexing="ij")
        points = torch.stack((xs.reshape(-1), ys.reshape(-1)), dim=1)
        distances = distances.permute(0, 2, 3, 1).reshape(b, -1, 4)
        low = (points[None] - distances[..., :2]).clamp(min=0)
        high = points[None] + distances[..., 2:]
        high = torch.stack(
            (high[..., 0].clamp(max=image.shape[3]), torch.minimum(high[..., 1], torch.tensor(float(1 << 20)))), -1
        )
        scores = torch.sqrt(torch.sigmoid(self.classes(x)) * torch.sigmoid(self.center(x)))
        return torch.cat((low, high), -1), scores.permute(0, 2, 3, 1).reshape(b, -1, 3)


class FrozenNorm(nn.Module):
    """A batch norm whose statistics stay as they are, as detectors have it."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.weight, self.bias = nn.Parameter(torch.ones(width)), nn.Parameter(torch.zeros(width))
        self.register_buffer("running_mean", torch.zeros(width))
        self.register_buffer("running_var", torch.ones(width))

    def forward(self, x: Tensor) -> Tensor:
        weight, bias = self.weight.reshape(1, -1, 1, 1), self.bias.reshape(1, -1, 1, 1)
        scale = weight * (self.running_var.reshape(1, -1, 1, 1) + 1e-5).rsqrt()
        return x * scale + (bias - self.running_mean.reshape(1, -1, 1, 1) * scale)


class Detr(nn.Module):
    """DETR: sines of the positions that the mask leaves, an encoder and a decoder layer, boxes for a few queries."""

    def __init__(self, width: int = 16, queries: int = 5) -> None:
        super().__init__()
        self.width = width
        self.stem, self.norm = nn.Conv2d(3, 8, 5, 8, 2, bias=False), FrozenNorm(8)
        self.project = nn.Conv2d(8, width, 1)
        self.queries = nn.Embedding(queries, width)
        self.own, self.cross = (nn.MultiheadAttention(width, 2, batch_first=True) for _ in range(2))
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(2))
        self.classes, self.boxes = nn.Linear(width, 4), nn.Linear(width, 4)

    def sines(self, kept: Tensor) -> Tensor:
        """The sines of the rows and columns, counted where the image is. kept[b, h, w] -> [b, width, h, w]."""
        rows = kept.cumsum(1, dtype=torch.float32)
        columns = kept.cumsum(2, dtype=torch.float32)
        rows = rows / (rows[:, -1:, :] + 1e-6) * 2 * math.pi
        columns = columns / (columns[:, :, -1:] + 1e-6) * 2 * math.pi
        half = self.width // 2
        steps = torch.arange(half, dtype=torch.float32)
        steps = 10000 ** (2 * torch.div(steps, 2, rounding_mode="floor") / half)
        found = []
        for places in (rows, columns):
            angles = places[:, :, :, None] / steps
            found.append(torch.stack((angles[..., 0::2].sin(), angles[..., 1::2].cos()), dim=4).flatten(3))
        return torch.cat(found, dim=3).permute(0, 3, 1, 2)

    def forward(self, image: Tensor, pixel_mask: Tensor) -> tuple[Tensor, Tensor]:
        x = self.project(functional.relu(self.norm(self.stem(image))))
        kept = functional.interpolate(pixel_mask[None].float(), size=x.shape[-2:])[0].to(torch.bool)
        places = self.sines(kept).flatten(2).permute(0, 2, 1)
        x = x.flatten(2).permute(0, 2, 1)
        hidden = ~kept.flatten(1)
        asked = x + places
        x = self.norms[0](x + self.own(asked, asked, x, key_padding_mask=hidden, need_weights=False)[0])
        queries = self.queries.weight.unsqueeze(0).repeat(x.shape[0], 1, 1)
        found = self.cross(queries, x + places, x, key_padding_mask=hidden, need_weights=False)[0]
        found = self.norms[1](queries + found)
        return self.classes(found), self.boxes(found).sigmoid()


class Matching(nn.Module):
    """What DETR's matcher weighs: class, distance of boxes, and how much they overlap, each with each."""

    def forward(self, logits: Tensor, boxes: Tensor, labels: Tensor, truths: Tensor) -> Tensor:
        b, count = logits.shape[:2]
        chances = logits.flatten(0, 1).softmax(-1)
        found = boxes.flatten(0, 1)
        apart = (found[:, None, :] - truths[None, :, :]).abs().sum(-1)
        corners, others = self.corners(found), self.corners(truths)
        low = torch.max(corners[:, None, :2], others[None, :, :2])
        high = torch.min(corners[:, None, 2:], others[None, :, 2:])
        shared = (high - low).clamp(min=0).prod(-1)
        union = self.areas(corners)[:, None] + self.areas(others)[None, :] - shared
        cost = 5 * apart - chances[:, labels] - 2 * shared / (union + 1e-4)
        return cost.view(b, count, -1)

    @staticmethod
    def areas(corners: Tensor) -> Tensor:
        """Width times height."""
        return (corners[:, 2] - corners[:, 0]) * (corners[:, 3] - corners[:, 1])

    @staticmethod
    def corners(boxes: Tensor) -> Tensor:
        """Centers and sizes to corners; a size is never negative."""
        cx, cy, w, h = boxes.unbind(-1)
        w, h = w.abs() + 0.1, h.abs() + 0.1
        return torch.stack((cx - 0.5 * w, cy - 0.5 * h, cx + 0.5 * w, cy + 0.5 * h), dim=-1)


class FocalLoss(nn.Module):
    """The focal loss of dense detectors, over classes one-hot, without the points to ignore."""

    def forward(self, logits: Tensor, labels: Tensor, weights: Tensor) -> tuple[Tensor, Tensor]:
        target = functional.one_hot(labels, 4).to(logits.dtype)
        chance = torch.sigmoid(logits)
        entropy = functional.softplus(-logits.abs()) + logits.clamp(min=0) - logits * target
        hit = chance * target + (1 - chance) * (1 - target)
        loss = (0.25 * target + 0.75 * (1 - target)) * (1 - hit) ** 2 * entropy * weights.unsqueeze(-1)
        return loss.sum((1, 2)) / weights.sum(1).clamp(min=1.0), loss


def _case(name: str, build: Callable[[], nn.Module], outputs: tuple[str, ...], *writings: Writing) -> Case:
    return Case(name, build, {"image": numbers("batch", 3, "height", "width")}, outputs, _FREE, writings)


_MATCHED: dict[str, Feed] = {
    "logits": numbers("batch", "count", 4),
    "boxes": numbers("batch", "count", 4),
    "labels": ids(4, "truths"),
    "truths": numbers("truths", 4),
}
CASES = (
    _case("yolo_anchors", YoloAnchors, ("boxes",), legacy(12), dynamo(18)),
    _case("yolo_free", YoloFree, ("boxes", "scores"), legacy(17), dynamo(20)),
    _case("fcos", Fcos, ("boxes", "scores"), legacy(13), dynamo(18, simplified=False)),
    Case(
        "detr",
        Detr,
        {"image": numbers("batch", 3, "height", "width"), "pixel_mask": bools("batch", "height", "width")},
        ("logits", "boxes"),
        _FREE,
        (legacy(14), dynamo(19)),
    ),
    Case("matching", Matching, _MATCHED, ("cost",), _FREE, (legacy(11), dynamo(18))),
    Case(
        "focal_loss",
        FocalLoss,
        {
            "logits": numbers("batch", "count", 4),
            "labels": ids(4, "batch", "count"),
            "weights": numbers("batch", "count"),
        },
        ("loss", "losses"),
        _FREE,
        (legacy(13), dynamo(21)),
    ),
)
