"""Agreement of clusters with labels: purity and V-measure, also of random clusters.

V-measure: Rosenberg and Hirschberg 2007, "V-Measure: A conditional entropy-based external cluster
evaluation measure".
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from random import Random


def purity(clusters: Sequence[Hashable], labels: Sequence[Hashable]) -> float:
    """Share of items that have the most frequent label of their cluster."""
    largest: Counter[Hashable] = Counter()
    for (cluster, _), count in Counter(zip(clusters, labels)).items():
        largest[cluster] = max(largest[cluster], count)
    return sum(largest.values()) / len(labels)


def v_measure(clusters: Sequence[Hashable], labels: Sequence[Hashable]) -> float:
    """Harmonic mean of homogeneity and completeness.

    Homogeneity is 1 − H(label | cluster) / H(label), completeness is
    1 − H(cluster | label) / H(cluster). A ratio with an entropy of 0 below the line counts as 0.
    The result is 1 if clusters and labels are the same partition, and 0 if they are independent.
    """
    label_entropy = entropy(Counter(labels).values())
    cluster_entropy = entropy(Counter(clusters).values())
    joint_entropy = entropy(Counter(zip(clusters, labels)).values())

    information = max(0.0, label_entropy + cluster_entropy - joint_entropy)
    if not information and (label_entropy or cluster_entropy):
        return 0.0
    homogeneity = information / label_entropy if label_entropy else 1.0
    completeness = information / cluster_entropy if cluster_entropy else 1.0
    return 2 * homogeneity * completeness / (homogeneity + completeness)


def v_measures_by_chance(
    clusters: Sequence[Hashable],
    labels: Sequence[Hashable],
    *,
    draws: int,
    random: Random,
) -> list[float]:
    """V-measures of random permutations of the clusters.

    They are well above 0 if there are few items per cluster or label.
    """
    permuted = list(clusters)
    measures = []
    for _ in range(draws):
        random.shuffle(permuted)
        measures.append(v_measure(permuted, labels))
    return measures


def entropy(counts: Iterable[int]) -> float:
    """Entropy in nats of the distribution with these counts; 0 without counts."""
    counts = [count for count in counts if count]
    total = sum(counts)
    if not total:
        return 0.0
    return math.log(total) - sum(count * math.log(count) for count in counts) / total
