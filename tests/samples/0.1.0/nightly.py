def test_pass(accuracy):
    accuracy.check("data/bits_same.csv", task="bits", model="m")


def test_regression(accuracy):
    accuracy.check("data/bits_worse.csv", task="bits", model="m")


def test_new(accuracy):
    accuracy.check("data/bits_same.csv", task="bits", model="new")
