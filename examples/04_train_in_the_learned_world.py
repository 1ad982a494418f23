"""Train a policy in the learned world alone, then let it act in the true one.

Needs `pip install "oocdm[rl]"`. It takes seconds and learns little; with --long, minutes.
"""

import sys
from collections.abc import Callable
from typing import Any

from stable_baselines3 import PPO

import oocdm
from oocdm.planning import FlatWorld
from oocdm.planning.stable_baselines import StableBaselinesEnv

is_long = "--long" in sys.argv
env = oocdm.make("mouse", variant="released")
data = oocdm.collect(env, steps=20_000 if is_long else 500, seed=0)
schedule = oocdm.Schedule(
    iterations=1,
    steps_per_iteration=300 if is_long else 5,
    polish_steps=900 if is_long else 5,
)
result = oocdm.fit(data, graph=env.true_graph, seed=0, schedule=schedule)
print(f"Learned a world from {data}")

worlds = oocdm.WorldVectorEnv(
    result, env.task, counts=env.max_objects, num_envs=64, start=data, seed=0
)
policy = PPO("MlpPolicy", StableBaselinesEnv(worlds), n_steps=16, batch_size=256, seed=0)
policy.learn(300_000 if is_long else 1_000)


def mean_return(choose: Callable[[Any], Any], episodes: int) -> float:
    """What a policy earns in the true world; every policy starts in the same states."""
    true, total = FlatWorld(env), 0.0
    for seed in range(episodes):
        (seen, _), over = true.reset(seed=seed), False
        while not over:
            seen, reward, terminated, truncated, _ = true.step(choose(seen))
            total, over = total + reward, terminated or truncated
    return total / episodes


episodes = 200 if is_long else 3
random = FlatWorld(env).action_space
random.seed(0)
print("In the true world, mean return of an episode")
print(f"  random actions: {mean_return(lambda seen: random.sample(), episodes):6.2f}")
print(f"  trained policy: {mean_return(lambda seen: policy.predict(seen)[0], episodes):6.2f}")
