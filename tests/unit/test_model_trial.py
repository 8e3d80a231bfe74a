"""What a trial on a graph makes of a model."""

from kgsparql.made_questions.model_trial import GraphTrial
from kgsparql.models.trust import Trust


def test_the_weight_is_the_one_with_which_most_is_right_and_none_where_all_made_things_worse() -> None:
    strong, none = Trust(chooses=True, judges=True, plans=True), Trust()
    for by_weight, weight in (
        ({0.05: 8.0, 0.1: 9.0, 0.2: 9.0, 0.4: 7.0}, 0.2),
        ({0.05: 8.0, 0.1: 8.0, 0.2: 8.0, 0.4: 8.0}, 0.4),
        ({0.05: 7.9, 0.1: 7.0, 0.2: 6.0, 0.4: 5.0}, 0.0),
    ):
        found = GraphTrial(10, 8.0, 8.0, by_weight, 100).applied(strong)
        assert (found.chooses, found.judges, found.weight) == (True, weight > 0, weight)
        assert GraphTrial(10, 8.0, None, by_weight, 100).applied(none).judges == (max(by_weight.values()) > 8)
    worse = GraphTrial(10, 8.0, 7.5, {}, 100).applied(strong)
    assert (worse.chooses, worse.plans, worse.judges, worse.weight, worse.tokens) == (False, False, True, 0.2, 100)
