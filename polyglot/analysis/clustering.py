"""Clusters beside true labels: purity, and the V-measure of Rosenberg and Hirschberg (2007), also of clusters that know nothing."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Sequence
from random import Random


def purity(clusters: Sequence[Hashable], labels: Sequence[Hashable]) -> float:
    """Share of those that have the most frequent label of their cluster."""
    most: Counter[Hashable] = Counter()
    for (cluster, _), count in Counter(zip(clusters, labels)).items():
        most[cluster] = max(most[cluster], count)
    return sum(most.values()) / len(labels)


def v_measure(clusters: Sequence[Hashable], labels: Sequence[Hashable]) -> float:
    """The harmonic mean of homogeneity 1 − H(label given cluster) / H(label) and completeness 1 − H(cluster given label) / H(cluster).

    1 where clusters are labels under other names, 0 where they know nothing of each other; what has no entropy is complete by itself.
    """
    of_labels, of_clusters = entropy(Counter(labels).values()), entropy(Counter(clusters).values())
    both = entropy(Counter(zip(clusters, labels)).values())
    shared = max(0.0, of_labels + of_clusters - both)
    homogeneity = shared / of_labels if of_labels else 1.0
    completeness = shared / of_clusters if of_clusters else 1.0
    return (
        2 * homogeneity * completeness / (homogeneity + completeness)
        if shared or not (of_labels or of_clusters)
        else 0.0
    )


def v_measures_by_chance(
    clusters: Sequence[Hashable], labels: Sequence[Hashable], *, draws: int, random: Random
) -> list[float]:
    """V-measures of the same clusters dealt out at random, so many times: where there are few of each, they are well above 0."""
    dealt, measures = list(clusters), []
    for _ in range(draws):
        random.shuffle(dealt)
        measures.append(v_measure(dealt, labels))
    return measures


def entropy(counts: object) -> float:
    """Of a distribution given by counts, in nats."""
    counts = [count for count in counts if count]
    total = sum(counts)
    return (
        math.log(total) - sum(count * math.log(count) for count in counts) / total if total else 0.0
    )
