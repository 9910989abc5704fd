class Tree:
    class Node:
        def __init__(self, value):
            self.value = value
            self.children = []

        def add(self, value):
            child = Tree.Node(value)
            self.children.append(child)
            return child

    class Cursor:
        def __init__(self, node):
            self.node = node

        def down(self, index):
            self.node = self.node.children[index]
            return self

    def __init__(self, value):
        self.root = self.Node(value)

    def cursor(self):
        return Tree.Cursor(self.root)


tree = Tree("a")
tree.root.add("b").add("c")
print(tree.cursor().down(0).down(0).node.value)
