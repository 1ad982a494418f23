"""Describe a world of objects, state its causal graph, and look at it in several forms."""

import oocdm


class Ball(oocdm.ObjectClass):
    position = oocdm.Real(shape=(2,))
    speed = oocdm.Real(shape=(2,))
    push = oocdm.Real(shape=(2,), action=True)
    mass = oocdm.Real(low=0.0, static=True)


class Score(oocdm.ObjectClass):
    points = oocdm.Integer(low=0)


schema = oocdm.Schema(Ball, Score)
graph = oocdm.ClassGraph.parse(
    schema,
    [
        "Ball.position <- self.position, self.speed",
        "Ball.speed <- self.speed, self.push, self.mass, Ball[*].position, Ball[*].mass",
        "Score.points <- self.points, Ball[*].position",
    ],
)
print(graph)

grounded = graph.ground({"Ball": 2, "Score": 1})
print("\nOf two balls, the first one's speed depends on:")
print(*grounded.parents("Ball[0].speed"), sep="\n")

print("\nFor a Mermaid page:")
print(graph.to_mermaid())
