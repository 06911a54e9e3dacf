"""Functions, async functions, objects that generate, estimators: what they are given, what their answers become, what their faults are."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from steelyard.errors import DataError, UsageError
from steelyard.evaluate.asking.asking import ask_all
from steelyard.evaluate.asking.asks import Answer, Ask, Case
from steelyard.evaluate.models.callables import LATER, TABLE, CallableModel
from steelyard.evaluate.models.opening import model_of

CHAT = ({"role": "user", "content": "hello"},)


def ask(input_: Any = "hello", **fields: Any) -> Ask:
    case = Case(id=str(fields.pop("id", 1)), input=input_, truth="yes", row={"id": 1, "truth": "yes"}, messages=CHAT)
    return Ask(case=case, **fields)


def said(given: Any, *asks: Ask, **options: Any) -> list[Any]:
    model = model_of(given, **options)
    try:
        return [answer.said if answer.error is None else answer for answer in model.ask(asks or [ask()])]
    finally:
        model.close()


# ---- functions -------------------------------------------------------------------------------------------------------


def test_a_function_gets_the_input_and_what_it_declares() -> None:
    seen: dict[str, Any] = {}

    def everything(text: str, *, seed: int, row: Any, messages: Any, repeat: int = 0, other: int = 5) -> str:
        seen.update(text=text, seed=seed, row=row, messages=messages, repeat=repeat, other=other)
        return "yes"

    assert said(everything, ask(seed=7, repeat=3)) == ["yes"]
    assert seen == {"text": "hello", "seed": 7, "row": {"id": 1, "truth": "yes"}, "messages": CHAT, "repeat": 3, "other": 5}
    assert said(lambda row: row) == ["hello"], "the first is the input, whatever its name"
    assert said(str.upper) == ["HELLO"], "a builtin"
    assert said(lambda *inputs: len(inputs)) == [1]


def test_a_function_that_cannot_be_called_is_found_out_before_anything_is_asked() -> None:
    for wrong in (lambda: 1, lambda a, b: 1, lambda *, seed: 1):
        with pytest.raises(
            UsageError, match=r"cannot be called with .*needs one positional parameter, and those named row, messages, seed, repeat"
        ):
            model_of(wrong)
    with pytest.raises(UsageError, match="must be at least 1, not 0"):
        model_of(len, batch=0)


def test_answers_are_plain_and_nothing_is_an_error() -> None:
    for value in ("text", True, 3, 2.5, np.int64(3), np.float32(0.5), np.str_("a"), np.bool_(False)):
        (found,) = said(lambda _, value=value: value)
        assert found == value
        assert type(found) in (str, bool, int, float)
    for nothing in (None, float("nan"), np.nan, [1, 2], b"x"):
        (found,) = said(lambda _, nothing=nothing: nothing)
        assert found.error.startswith(("no answer", "unusable answer"))
        assert found.said is None
    full = model_of(lambda _: {"text": "yes", "finish": "length", "tokens_in": 5, "tokens_out": 2}).ask([ask()])[0]
    assert (full.said, full.finish, full.tokens_in, full.tokens_out) == ("yes", "length", 5, 2)
    assert full.seconds is not None


def test_an_exception_is_the_error_of_that_item() -> None:
    def breaks(text: str) -> str:
        if text == "bad":
            raise RuntimeError("out of memory\nand a long trace")
        return text

    good, bad = model_of(breaks).ask([ask("good"), ask("bad")])
    assert good.said == "good"
    assert (bad.said, bad.error) == (None, "RuntimeError: out of memory")
    assert "SystemExit" in said(lambda _: exit(1))[0].error


# ---- batches ---------------------------------------------------------------------------------------------------------


def test_batched_functions_get_lists() -> None:
    sizes = []

    def predict(texts: list[str], seed: list[int]) -> Any:
        sizes.append((len(texts), seed))
        return np.array([len(text) for text in texts])

    assert said(predict, ask("a", seed=1), ask("bcd", seed=2), batch=8) == [1, 3]
    predict.batched = True  # type: ignore[attr-defined]
    assert model_of(predict).batch == 32
    assert said(predict, ask("a", seed=1), ask("bcd", seed=2)) == [1, 3]
    assert sizes == [(2, [1, 2])] * 2


def test_one_bad_input_does_not_lose_the_batch() -> None:
    def predict(texts: list[str]) -> list[int]:
        return [int(text) for text in texts]

    one, two, three = said(predict, ask("1"), ask("two"), ask("3"), batch=3)
    assert (one, three) == (1, 3)
    assert two.error.startswith("ValueError: invalid literal")


@pytest.mark.parametrize("wrong", [lambda texts: "yes", lambda texts: [1], lambda texts: None, lambda texts: np.array(3)])
def test_a_batch_without_an_answer_for_each_cannot_be_used(wrong: Any) -> None:
    with pytest.raises(DataError, match=r"must return a list with one answer per input; it gave .*to a batch of 2"):
        said(wrong, ask(), ask(), batch=2)


# ---- async -----------------------------------------------------------------------------------------------------------


def test_async_functions_run_at_the_same_time_in_one_loop() -> None:
    """Each call waits until all sixteen are there: one after the other it would wait for ever."""
    threads, here = set(), []
    everybody: list[asyncio.Event] = []

    async def predict(text: str) -> str:
        if not everybody:
            everybody.append(asyncio.Event())
        threads.add(threading.get_ident())
        here.append(text)
        if len(here) == LATER:
            everybody[0].set()
        await asyncio.wait_for(everybody[0].wait(), 60)
        return text.upper()

    model = model_of(predict)
    assert model.concurrency == LATER
    given = [ask(f"q{i}", id=i) for i in range(LATER)]
    with ask_all(given, [model], None) as answers:
        assert [answer.said for _, answer in answers] == [f"Q{i}" for i in range(LATER)]
    assert len(threads) == 1
    model.close()
    model.close()


def test_async_in_other_clothes() -> None:
    class Later:
        async def __call__(self, text: str) -> str:
            await asyncio.sleep(0)
            return text

    async def batched(texts: list[str]) -> list[str]:
        return texts[::-1]

    async def leaves(text: str) -> str:
        raise SystemExit(3)

    assert said(Later()) == ["hello"]
    assert said(lambda text: Later()(text)) == ["hello"], "a function that returns a coroutine"
    assert said(batched, ask("a"), ask("b"), batch=2) == ["b", "a"]
    assert "SystemExit: 3" in said(leaves)[0].error, "and the loop lives on"


def test_what_was_given_up_is_cancelled_at_the_end() -> None:
    begun, ended = threading.Event(), threading.Event()

    async def hangs(text: str) -> str:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()
        return text

    model = model_of(hangs)
    found: list[Any] = []

    def asks() -> None:
        try:
            found.append(model.ask([ask()]))
        except BaseException as fault:
            found.append(fault)

    thread = threading.Thread(target=asks)
    thread.start()
    assert begun.wait(60)
    model.close()
    thread.join(60)
    assert ended.is_set()
    assert not thread.is_alive()


# ---- generate --------------------------------------------------------------------------------------------------------


def test_objects_that_generate() -> None:
    class Engine:
        def generate(self, prompt: Any, temperature: float = 1.0) -> Any:
            if isinstance(prompt, list):
                return [f"{each} {temperature}" for each in prompt]
            return [SimpleNamespace(outputs=[SimpleNamespace(text=f"{prompt} {temperature}")])]

    class Later:
        def generate_async(self, prompt: str) -> Any:
            return SimpleNamespace(result=lambda: prompt.upper())

    assert said(Engine(), sampling={"temperature": 0.5}) == ["hello 0.5"]
    assert said(Engine(), ask("a"), ask("b"), sampling={"temperature": 0.5}, batch=2) == ["a 0.5", "b 0.5"]
    assert said(Later()) == ["HELLO"]
    with pytest.raises(UsageError, match="top_k"):
        model_of(Engine(), sampling={"top_k": 3})
    assert model_of(Engine(), sampling={"temperature": 0.5}).identity["sampling"] == {"temperature": 0.5}


# ---- estimators ------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def digits() -> Any:
    pytest.importorskip("sklearn")
    from sklearn.datasets import load_digits

    return load_digits(return_X_y=True)


def test_a_scikit_learn_estimator_answers_as_its_predict(digits: Any) -> None:
    from sklearn.naive_bayes import GaussianNB

    x, y = digits
    fitted = GaussianNB().fit(x[:1000], y[:1000])
    model = model_of(fitted)
    assert (model.batch, model.concurrency, model.name) == (TABLE, 1, "GaussianNB")
    with ask_all([ask(list(row), id=i) for i, row in enumerate(x)], [model], None) as answers:
        found = [answer.said for _, answer in answers]
    assert found == fitted.predict(x).tolist()
    assert all(type(each) is int for each in found)


def test_tables_with_names_and_pipelines_of_texts(digits: Any) -> None:
    from sklearn.feature_extraction.text import CountVectorizer
    from sklearn.linear_model import LinearRegression
    from sklearn.naive_bayes import MultinomialNB
    from sklearn.pipeline import make_pipeline

    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"a": [1.0, 2.0, 3.0], "b": [0.0, 1.0, 5.0]})
    line = LinearRegression().fit(frame, [1.0, 3.0, 8.0])  # a + b
    assert said(line, ask({"b": 4, "a": 1, "c": 9}), ask({"a": 2.0, "b": 2.0})) == pytest.approx([5.0, 4.0])
    assert said(line, ask({"a": 1.0}))[0].error.startswith("KeyError: \"no column 'b'")
    texts = make_pipeline(CountVectorizer(), MultinomialNB()).fit(["good nice", "bad awful"], ["+", "-"])
    assert said(texts, ask("a nice day"), ask("an awful one")) == ["+", "-"]


def test_a_bad_row_is_its_own_error_and_a_bad_estimator_everybodys() -> None:
    class Sums:
        def predict(self, table: Any) -> Any:
            assert table.ndim == 2
            if np.isnan(table).any():
                raise ValueError("Input contains NaN.")
            return table.sum(axis=1, keepdims=True)

    good, bad = said(Sums(), ask([1, 2]), ask([1, float("nan")]))
    assert good == 3.0
    assert bad.error == "ValueError: Input contains NaN."
    ragged = said(Sums(), ask([1, 2]), ask([1, 2, 3]))
    assert ragged == [3.0, 6.0], "tables of another width are asked one by one"
    assert said(Sums(), ask(5))[0].error.startswith("ValueError: the inputs are not rows")
    with pytest.raises(DataError, match="1 answers to a batch of 2"):
        said(SimpleNamespace(predict=lambda table: [1]), ask([1]), ask([2]))


def test_an_estimator_that_was_never_fitted_says_so() -> None:
    svm = pytest.importorskip("sklearn.svm")
    assert said(svm.SVC(), ask([1.0]))[0].error.startswith("NotFittedError")


# ---- PyTorch ---------------------------------------------------------------------------------------------------------


def test_a_pytorch_module_goes_through_a_function() -> None:
    torch = pytest.importorskip("torch")
    net = torch.nn.Linear(2, 2)
    with torch.no_grad():
        net.weight.copy_(torch.eye(2))
        net.bias.zero_()

    @torch.inference_mode()  # type: ignore[untyped-decorator,unused-ignore]
    def predict(inputs: list[list[float]]) -> Any:
        return net(torch.tensor(inputs)).argmax(dim=1)

    assert said(predict, ask([3.0, 1.0]), ask([0.0, 1.0]), batch=2) == [0, 1]
    with pytest.raises(UsageError, match="PyTorch"):
        model_of(net)


@pytest.fixture(autouse=True)
def no_threads_left() -> Iterator[None]:
    before = set(threading.enumerate())
    yield
    for thread in set(threading.enumerate()) - before:
        if thread.name == "async model":
            thread.join(60)
            assert not thread.is_alive()


def test_a_called_model_is_a_model() -> None:
    model = CallableModel(len, name="len", identity={"kind": "python"})
    assert (model.name, model.batch, model.concurrency, model.identity) == ("len", 1, 1, {"kind": "python"})
    assert model.ask([ask()])[0] == Answer(said=5, seconds=model.ask([ask()])[0].seconds) or model.ask([ask()])[0].said == 5
