"""The search tree."""

import pytest

from nmt_cli.config.search import SearchConfig
from nmt_cli.search import SearchTree
from nmt_cli.vocabulary.token_ids import EOS
from tests.search.toy import Toy


@pytest.mark.parametrize("beam", [1, 3])
def test_the_tree_holds_the_path_of_every_hypothesis(beam: int) -> None:
    toy = Toy(1, lengths=(3, 3, 3, 3, 3), vocabulary=12)
    config = SearchConfig(beam_size=beam, n_best=beam, max_length=15)
    tree = SearchTree(candidates=9)
    result = toy.search(config, tree=tree)
    assert [[h.tokens for h in found] for found in result] == [
        [h.tokens for h in found] for found in toy.search(config)
    ]
    for b, found in enumerate(result):
        steps = tree.steps(b)
        assert all(len(step) >= 9 for step in steps[1:-1])
        paths: dict[int, list[int]] = {0: []}  # by slot
        ended: list[list[int]] = []
        for step in steps:
            assert [node.total for node in step] == sorted((node.total for node in step), reverse=True)
            ended += [paths[node.parent] for node in step if node.ended]
            assert all(node.token == EOS for node in step if node.ended)
            paths = {node.slot: [*paths[node.parent], node.token] for node in step if node.slot is not None}
            assert len(paths) <= beam
            for node in step:
                if node.slot is not None:
                    log_p = toy.sentence(b).next_log_p(paths[node.slot][:-1])[node.token]
                    assert node.log_probability == pytest.approx(log_p, abs=1e-4)
        assert all(hypothesis.tokens in ended for hypothesis in found)
        assert len(steps) >= max(len(hypothesis.tokens) for hypothesis in found) + 1
