"""Train a policy in the learned world alone, then let it act in the true one.

The logs come from worlds with various numbers of objects; the policy learns for one of each kind.
Needs `pip install "oocdm[rl]"`. It takes seconds and learns little; with --long, minutes.
"""

import sys
from collections.abc import Callable
from typing import Any

from stable_baselines3 import PPO

import oocdm

is_long = "--long" in sys.argv
logged = oocdm.make(
    "mouse", variant="released", num_food=(1, 4), num_monsters=(0, 2), num_traps=(0, 2)
)
data = oocdm.collect(logged, steps=20_000 if is_long else 500, seed=0)
schedule = oocdm.Schedule(
    iterations=1,
    steps_per_iteration=300 if is_long else 5,
    polish_steps=800 if is_long else 5,
)
result = oocdm.fit(data, graph=logged.true_graph, seed=0, schedule=schedule)
print(f"Learned a world from {data}")

counts = {"Mouse": 1, "Food": 1, "Monster": 1, "Trap": 1}
worlds = oocdm.LearnedVectorEnv(result, logged.task, counts, num_envs=256, start=data, seed=0)
options = {"n_steps": 16, "batch_size": 512, "learning_rate": 1e-3, "gamma": 0.95, "ent_coef": 0.01}
policy = PPO("MlpPolicy", oocdm.StableBaselinesEnv(worlds), seed=0, **options)
policy.learn(150_000 if is_long else 4_000)

true = oocdm.FlatEnv(
    oocdm.make("mouse", variant="released", num_food=1, num_monsters=1, num_traps=1)
)


def mean_return(choose: Callable[[Any], Any], episodes: int) -> float:
    """What a policy earns in the true world; every policy starts in the same states."""
    total = 0.0
    for seed in range(episodes):
        (seen, _), over = true.reset(seed=seed), False
        while not over:
            seen, reward, terminated, truncated, _ = true.step(choose(seen))
            total, over = total + reward, terminated or truncated
    return total / episodes


episodes = 200 if is_long else 3
true.action_space.seed(0)
print("In the true world, mean return of an episode")
print(f"  random actions: {mean_return(lambda seen: true.action_space.sample(), episodes):6.2f}")
print(f"  trained policy: {mean_return(lambda seen: policy.predict(seen)[0], episodes):6.2f}")
