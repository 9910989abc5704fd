class Node:
    def __init__(self, value, left=None, right=None):
        self.value = value
        self.left = left
        self.right = right


def in_order(node):
    if node is None:
        return
    yield from in_order(node.left)
    yield node.value
    yield from in_order(node.right)


tree = Node(2, Node(1), Node(3))
print(list(in_order(tree)))
