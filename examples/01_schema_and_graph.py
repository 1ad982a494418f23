"""Describe a world of objects, state its causal graph, and look at it in several forms."""

from oocdm.graph import ClassGraph
from oocdm.schema import Integer, ObjectClass, Real, Schema


class Ball(ObjectClass):
    position = Real(shape=(2,))
    speed = Real(shape=(2,))
    push = Real(shape=(2,), action=True)
    mass = Real(low=0.0, static=True)


class Score(ObjectClass):
    points = Integer(low=0)


schema = Schema(Ball, Score)
graph = ClassGraph.parse(
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
