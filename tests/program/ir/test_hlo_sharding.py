"""The strings in which XLA writes shardings."""

from __future__ import annotations

import numpy as np
import pytest

from nimblehlo.program.ir.hlo_sharding import MAX_DEVICES, TILED, HloSharding, parse_hlo_sharding


@pytest.mark.parametrize("kind", ["replicated", "manual", "unknown", "unreduced"])
def test_whole_kinds(kind: str) -> None:
    assert parse_hlo_sharding(f"{{{kind}}}") == (HloSharding(kind),)


def test_an_empty_message_is_replicated() -> None:
    assert parse_hlo_sharding("") == (HloSharding("replicated"),)


def test_a_maximal_sharding_names_its_device() -> None:
    assert parse_hlo_sharding("{maximal device=3}") == (HloSharding("maximal", devices=(3,)),)


@pytest.mark.parametrize(
    ("text", "tiles", "subgroups", "devices"),
    [
        ("{devices=[2,2]0,2,1,3}", (2, 2), (), [0, 2, 1, 3]),
        ("{devices=[4,2]<=[8]}", (4, 2), (), list(range(8))),
        ("{devices=[2,4]<=[4,2]T(1,0)}", (2, 4), (), np.arange(8).reshape(4, 2).T.reshape(-1)),
        (
            "{devices=[1,2,4]<=[2,2,2]T(1,0,2) last_tile_dim_replicate}",
            (1, 2),
            (("replicated", 4),),
            np.arange(8).reshape(2, 2, 2).transpose(1, 0, 2).reshape(-1),
        ),
        (
            "{devices=[1,1,4,2]<=[8] last_tile_dims={manual, replicated}}",
            (1, 1),
            (("manual", 4), ("replicated", 2)),
            list(range(8)),
        ),
        (
            '{devices=[2]0,1 metadata={op_name="a } b" source_line=3} shard_as 7}',
            (2,),
            (),
            [0, 1],
        ),
    ],
)
def test_tiled(
    text: str, tiles: tuple[int, ...], subgroups: tuple[tuple[str, int], ...], devices: list[int]
) -> None:
    (sharding,) = parse_hlo_sharding(text)
    assert sharding == HloSharding(TILED, tiles, subgroups, tuple(devices))


def test_a_tuple_has_a_sharding_for_each_element() -> None:
    kinds = [sharding.kind for sharding in parse_hlo_sharding("{{replicated}, {manual},{devices=[1]0}}")]
    assert kinds == ["replicated", "manual", TILED]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("{", "not part of a sharding"),
        ("{}", "states no sharding"),
        ("{replicated", "not part of a sharding"),
        ("{replicated} x", "after its end"),
        ("{replicated manual}", "both replicated and manual"),
        ("{manual devices=[2]0,1}", "both manual and tiled"),
        ("{maximal}", "names no device"),
        ("{wrong}", "'wrong', which is not part"),
        ("{devices=[2]0}", "each of the devices 0 to 1"),
        ("{devices=[2]0,0}", "each of the devices 0 to 1"),
        ("{devices=[2]1,2}", "each of the devices 0 to 1"),
        ("{devices=[0]}", "of 0 devices"),
        ("{devices=[-1]0}", "a number is expected"),
        ("{devices=[2]<=[3]}", "reshapes 2 devices"),
        ("{devices=[4]<=[2,2]T(0,0)}", "transposes 2 dimensions"),
        ("{devices=[4]<=[2,2]T(0)}", "transposes 2 dimensions"),
        (f"{{devices=[{2 * MAX_DEVICES}]<=[{2 * MAX_DEVICES}]}}", "must be 1 to"),
        ("{devices=[99999999999999999999]<=[1]}", "a number is expected"),
        (f"{{devices=[2]<=[{'1,' * 40}2]}}", "to 41 dimensions"),
        ("{devices=[2]<=[2] last_tile_dims={maximal}}", "subgroup of the kind"),
        ("{devices=[2]<=[2] last_tile_dims={manual, manual}}", "2 subgroups"),
        ("{replicated last_tile_dim_replicate}", "cannot have subgroups"),
        ("{devices=[2]0,1 metadata={}", "not part of a sharding"),
        ("{devices=[2]0,1 metadata={", "brace that does not end"),
        ("{{replicated}", "',' is expected"),
        ("\x08\x03\x1a", "'{' is expected"),
    ],
)
def test_malformed(text: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        parse_hlo_sharding(text)


def test_the_devices_of_all_shardings_of_a_text_are_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "{{devices=[4]<=[4]}, {devices=[1,2]0,1}}"
    monkeypatch.setattr("nimblehlo.program.ir.hlo_sharding.MAX_LISTED_DEVICES", 6)
    assert [len(sharding.devices) for sharding in parse_hlo_sharding(text)] == [4, 2]
    monkeypatch.setattr("nimblehlo.program.ir.hlo_sharding.MAX_LISTED_DEVICES", 5)
    with pytest.raises(ValueError, match="lists more than 5 devices in all"):
        parse_hlo_sharding(text)
