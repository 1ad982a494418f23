"""Train with a known graph, keep the run, load it, and evaluate it on new episodes."""

import oocdm

env = oocdm.make("block", num_blocks=2)
data = oocdm.collect(env, steps=2_000, seed=0)
quick = oocdm.Schedule(iterations=3, steps_per_iteration=60, polish_steps=0)
oocdm.fit(data, seed=0, graph=env.true_graph, schedule=quick).save("runs/block2")

result = oocdm.load("runs/block2")
oocdm.save_adjacency("runs/block2/graph.png", result.graph)
print("The graph that was given, also in runs/block2/graph.png:")
print(result.graph)

for ood in (False, True):
    other = oocdm.make("block", num_blocks=2, ood=ood)
    print(f"\nOn new episodes that start {'elsewhere' if ood else 'as the training data do'}:")
    print(oocdm.evaluate(result, oocdm.collect(other, steps=2_000, seed=1)))
