"""Transformers, PEFT, Lightning and MLflow: real models made small, trained by their own loops."""

import contextlib
import math
import os
import warnings

import pytest
import torch
from torch import nn

import discreet as dp
from discreet.errors import OtherRun, WrongKind
from discreet.torch.loss_function import SummedObjective
from discreet.torch.per_example import RecordedFactors, choose

os.environ["HF_HUB_OFFLINE"] = "1"
with warnings.catch_warnings():  # their own
    warnings.simplefilter("ignore")
    import mlflow
    from lightning.pytorch import Trainer as LightningTrainer
    from peft import LoraConfig, get_peft_model
    from tokenizers import Tokenizer, models, pre_tokenizers, trainers
    from transformers import (
        BertConfig,
        BertForSequenceClassification,
        DataCollatorForLanguageModeling,
        DataCollatorWithPadding,
        GPT2Config,
        GPT2LMHeadModel,
        LlamaConfig,
        LlamaForCausalLM,
        PreTrainedTokenizerFast,
        TrainerCallback,
        TrainingArguments,
        ViTConfig,
        ViTForImageClassification,
    )

    from discreet.torch.adapters import Movement, PrivateModule, PrivateTrainer, log_run
    from discreet.torch.adapters.examples import RowModel, token_loss

pytestmark = pytest.mark.filterwarnings("ignore::Warning:(peft|transformers|lightning|mlflow).*")

LINE = "the noise of one answer hides what any one person adds to it and no more than that"
WORDS = LINE.split()
TEXTS = [" ".join(WORDS[start : start + 3 + start % 9]) for start in range(12)] * 4
SMALL = {"vocab_size": 64, "bos_token_id": 1, "eos_token_id": 1}


@pytest.fixture(scope="module")
def tokenizer():
    """Return a tokenizer that was trained on public text."""
    made = Tokenizer(models.BPE(unk_token="[UNK]"))  # noqa: S106  not a password
    made.pre_tokenizer = pre_tokenizers.Whitespace()
    special = ["[UNK]", "[PAD]"]
    made.train_from_iterator(
        WORDS, trainers.BpeTrainer(vocab_size=64, special_tokens=special, show_progress=False)
    )
    return PreTrainedTokenizerFast(tokenizer_object=made, unk_token="[UNK]", pad_token="[PAD]")  # noqa: S106


@pytest.fixture
def ledger(tmp_path):
    with dp.ledger.Ledger.open(
        tmp_path / "a.ledger", unit=dp.row(), budget=dp.Budget(epsilon=50, delta="1e-3")
    ) as opened:
        yield opened


def gpt2(**changed):
    torch.manual_seed(0)
    settings = {"n_positions": 16, "n_embd": 16, "n_layer": 1, "n_head": 2, "attn_pdrop": 0.0}
    return GPT2LMHeadModel(
        GPT2Config(**SMALL, **{**settings, "tie_word_embeddings": False, **changed})
    )


def llama():
    torch.manual_seed(0)
    settings = {"hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 1}
    return LlamaForCausalLM(
        LlamaConfig(
            **SMALL, **settings, num_attention_heads=2, max_position_embeddings=16, pad_token_id=1
        )
    )


def bert():
    torch.manual_seed(0)
    settings = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2}
    return BertForSequenceClassification(
        BertConfig(
            vocab_size=64,
            **settings,
            intermediate_size=32,
            max_position_embeddings=16,
            num_labels=3,
            attention_probs_dropout_prob=0.0,
        )
    )


def vit():
    torch.manual_seed(0)
    settings = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2}
    return ViTForImageClassification(
        ViTConfig(
            **settings,
            intermediate_size=32,
            image_size=8,
            patch_size=4,
            num_labels=3,
            hidden_dropout_prob=0.0,
            attention_probs_dropout_prob=0.0,
        )
    )


def arguments(folder, **changed):
    settings = {
        "per_device_train_batch_size": 4,
        "gradient_accumulation_steps": 3,
        "max_steps": 4,
        "learning_rate": 0.01,
        "logging_steps": 2,
        "report_to": "none",
        "save_strategy": "no",
        "use_cpu": True,
        "disable_tqdm": True,
    }
    return TrainingArguments(output_dir=str(folder), **{**settings, **changed})


def privacy(ledger, **changed):
    settings = {"unit": ledger.unit, "population": 48, "epsilon": 4, "delta": "1e-5"}
    return {"ledger": ledger, **settings, **changed}


def causal(tokenizer, ledger, folder, model, **changed):
    options = {"args": arguments(folder), "privacy": privacy(ledger), "length": 12, **changed}
    return PrivateTrainer(
        model=model,
        train_dataset=[dict(tokenizer(text)) for text in TEXTS],
        data_collator=DataCollatorForLanguageModeling(tokenizer, mlm=False),
        **options,
    )


class Seen(TrainerCallback):
    """Remember what a trainer tells its callbacks."""

    def __init__(self):
        self.steps, self.logs = [], []

    def on_step_end(self, args, state, control, **kwargs):
        self.steps.append(state.global_step)

    def on_log(self, args, state, control, logs=None, **kwargs):
        self.logs.append(logs)


@pytest.mark.parametrize("make", [gpt2, llama], ids=["gpt2", "llama"])
def test_a_trainer_trains_a_language_model_on_texts_of_different_lengths(
    make, tokenizer, ledger, tmp_path
):
    seen = Seen()
    trainer = causal(tokenizer, ledger, tmp_path, make(), callbacks=[seen])
    assert not any(ledger.left().spent)  # planned, and nothing spent
    assert all("recorded" in line for line in trainer.run.plan.layers)
    made = trainer.train()
    assert made.global_step == 4
    assert seen.steps == [1, 2, 3, 4]
    assert made.metrics["epsilon"] <= 4
    assert not any("loss" in logs for logs in seen.logs)
    assert trainer.run.plan.batch == 12
    assert trainer.run.plan.micro == 4
    assert min(trainer.movement.values()) > 0
    assert any(ledger.left().spent)


def test_a_schedule_an_evaluation_and_a_checkpoint_are_the_trainers_own(
    tokenizer, ledger, tmp_path
):
    args = arguments(
        tmp_path,
        eval_strategy="steps",
        eval_steps=2,
        save_strategy="steps",
        save_steps=4,
        lr_scheduler_type="linear",
    )
    public = [dict(tokenizer(text)) for text in TEXTS[:4]]
    trainer = causal(tokenizer, ledger, tmp_path, gpt2(), args=args, eval_dataset=public)
    trainer.train()
    assert trainer.lr_scheduler.get_last_lr() == [0.0, 0.0]
    assert sum("eval_loss" in log for log in trainer.state.log_history) == 2
    assert (tmp_path / "checkpoint-4" / "config.json").exists()


def test_padding_does_not_change_what_an_example_contributes():
    """Half as much padding again, and the same norms."""
    norms = []
    for length in (8, 12):
        ids = torch.ones(2, 2, length, dtype=torch.long)
        ids[:, 1] = 0
        ids[:, 0, :5], ids[:, 1, :5] = torch.tensor([[3, 9, 4, 7, 5], [8, 8, 2, 6, 3]]), 1
        labels = torch.where(ids[:, 1] == 1, ids[:, 0], -100)
        model = RowModel(gpt2(), ["input_ids", "attention_mask"], positions=True).eval()
        summed = SummedObjective(lambda o, t: token_loss(o, t, shift=True))
        engine = choose(model, summed, ids, labels, units=2)
        assert isinstance(engine.contributions, RecordedFactors)
        parts = engine.contributions.parts(ids, labels, torch.ones(2, dtype=torch.bool), 2)
        norms.append(torch.stack([part.squares for part in parts]).sum(0))
    assert torch.allclose(norms[0], norms[1], rtol=1e-4)


def test_each_example_weighs_alike_however_many_labels_it_has():
    logits = torch.zeros(2, 6, 64)
    labels = torch.full((2, 6), -100)
    labels[0], labels[1, :2] = 3, 3
    assert token_loss(logits, labels, shift=True) == pytest.approx([math.log(64)] * 2)


def test_documents_of_one_person_are_protected_together(tokenizer, tmp_path):
    unit = dp.person("author")
    budget = dp.Budget(epsilon=50, delta="1e-3")
    rows = [{**tokenizer(text), "author": f"p{place % 16}"} for place, text in enumerate(TEXTS)]
    with dp.ledger.Ledger.open(tmp_path / "p.ledger", unit=unit, budget=budget) as ledger:
        trainer = PrivateTrainer(
            model=gpt2(),
            args=arguments(tmp_path),
            train_dataset=rows,
            data_collator=DataCollatorForLanguageModeling(tokenizer, mlm=False),
            privacy=privacy(ledger, population=16, rows_per_unit=2),
            length=12,
            unit_column="author",
        )
        trainer.train()
        assert trainer.run.plan.rows == 2
        assert trainer.run.plan.unit == unit


def test_a_classifier_of_texts_and_one_of_pictures(tokenizer, ledger, tmp_path):
    rows = [{**tokenizer(text), "labels": place % 3} for place, text in enumerate(TEXTS)]
    texts = PrivateTrainer(
        model=bert(),
        args=arguments(tmp_path),
        train_dataset=rows,
        data_collator=DataCollatorWithPadding(tokenizer),
        privacy=privacy(ledger),
        length=12,
    )
    assert all("recorded" in line for line in texts.run.plan.layers)
    texts.train()
    stream = torch.Generator().manual_seed(1)
    pictures = [
        {"pixel_values": torch.randn(3, 8, 8, generator=stream), "labels": place % 3}
        for place in range(24)
    ]
    seen = PrivateTrainer(
        model=vit(),
        args=arguments(tmp_path),
        train_dataset=pictures,
        privacy=privacy(ledger, population=24),
    )
    seen.train()
    assert min(texts.movement.values()) > 0
    assert min(seen.movement.values()) > 0


def test_tied_embeddings_are_differentiated_example_by_example(tokenizer, ledger, tmp_path):
    trainer = causal(tokenizer, ledger, tmp_path, gpt2(tie_word_embeddings=True))
    assert "a weight is shared by several layers" in str(trainer.run.plan)
    trainer.train()
    weight = trainer.model.transformer.wte.weight
    assert trainer.model.lm_head.weight is weight


def test_a_loss_of_ones_own_sees_one_example_at_a_time(tokenizer, ledger, tmp_path):
    sizes = []

    class Own(PrivateTrainer):
        def compute_loss(self, model, inputs, return_outputs=False, **kwargs):
            sizes.append(len(inputs["input_ids"]))
            return 2 * model(**inputs).loss

    trainer = Own(
        model=gpt2(),
        args=arguments(tmp_path, max_steps=2),
        train_dataset=[dict(tokenizer(text)) for text in TEXTS],
        data_collator=DataCollatorForLanguageModeling(tokenizer, mlm=False),
        privacy=privacy(ledger),
        length=12,
    )
    trainer.train()
    assert set(sizes) == {1}


def lora(model):
    config = LoraConfig(r=2, target_modules=["q_proj", "v_proj"], lora_dropout=0.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return get_peft_model(model, config)


def test_lora_trains_its_adapters_alone_and_says_how_far_each_moved(tokenizer, ledger, tmp_path):
    model = lora(llama())
    frozen = model.base_model.model.lm_head.weight.clone()
    trainer = causal(tokenizer, ledger, tmp_path, model)
    trainer.train()
    assert len(trainer.movement) == 4
    assert all("lora" in name and moved > 0 for name, moved in trainer.movement.items())
    assert torch.equal(model.base_model.model.lm_head.weight, frozen)


def test_adapters_that_were_not_trained_are_an_error(tokenizer, ledger, tmp_path):
    trainer = causal(
        tokenizer, ledger, tmp_path, lora(llama()), args=arguments(tmp_path, learning_rate=0.0)
    )
    with pytest.raises(OtherRun, match=r"'.*lora_A.*' and 3 more did not move"):
        trainer.train()


def test_a_weight_that_stands_still_is_named():
    layer = nn.Linear(2, 2)
    before = Movement.of(layer)
    with torch.no_grad():
        layer.weight.add_(1)
    with pytest.raises(OtherRun, match="'bias' did not move"):
        before.check(layer)


def test_mistakes_cost_nothing(tokenizer, ledger, tmp_path):
    with pytest.raises(WrongKind, match="length=128"):
        causal(tokenizer, ledger, tmp_path, gpt2(), length=None)
    with pytest.raises(WrongKind, match="attn_pdrop"):
        causal(tokenizer, ledger, tmp_path, gpt2(attn_pdrop=0.1))
    assert not any(ledger.left().spent)


def test_lightning_trains_with_its_own_trainer(ledger, tmp_path):
    stream = torch.Generator().manual_seed(2)
    features = torch.randn(64, 4, generator=stream)
    module = PrivateModule(
        nn.Linear(4, 2),
        objective=nn.functional.cross_entropy,
        optimizer=lambda parameters: torch.optim.SGD(parameters, lr=0.5),
        scheduler=lambda optimizer: torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.9),
        data=(features, (features.sum(1) > 0).long()),
        ledger=ledger,
        unit=ledger.unit,
        population=64,
        batch=16,
        steps=5,
        epsilon=4,
        delta="1e-5",
        metrics={"objective": 3},
    )
    with warnings.catch_warnings(), contextlib.chdir(tmp_path):
        warnings.simplefilter("ignore")
        trainer = LightningTrainer(
            max_epochs=1,
            accelerator="cpu",
            logger=False,
            enable_checkpointing=False,
            enable_progress_bar=False,
            enable_model_summary=False,
        )
        trainer.fit(module)
    assert module.run.report.taken == 5
    assert module.run.report.weights is not None  # on record
    assert set(module.movement) == {"weight", "bias"}
    assert module.configure_optimizers().param_groups[0]["lr"] == pytest.approx(0.5 * 0.9**5)
    assert "objective" in trainer.logged_metrics


def test_mlflow_has_the_plan_and_the_price_and_no_data(ledger, tmp_path, monkeypatch):
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")  # no database for a test
    canary = 0.12345678901
    features = torch.full((64, 4), canary, dtype=torch.float64).float()
    model = nn.Linear(4, 2)
    run = dp.torch.Training(
        model,
        objective=nn.functional.cross_entropy,
        data=(features, torch.zeros(64, dtype=torch.long)),
        optimizer=torch.optim.SGD(model.parameters(), lr=0.1),
        ledger=ledger,
        unit=ledger.unit,
        population=64,
        batch=16,
        steps=3,
        epsilon=2,
        delta="1e-5",
    )
    run.fit(bar=False)
    store = tmp_path / "runs"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        mlflow.set_tracking_uri((tmp_path / "tracked").as_uri())
        mlflow.create_experiment("private", artifact_location=store.as_uri())
        mlflow.set_experiment("private")
        with mlflow.start_run() as started:
            log_run(run, movement={"weight": 0.5})
        found = mlflow.get_run(started.info.run_id)
    assert found.data.metrics["privacy.epsilon"] <= 2
    assert found.data.params["privacy.noise_multiplier"] == str(float(run.plan.sigma))
    assert found.data.tags["privacy.weights_sha256"] == run.report.weights
    written = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert b"noise multiplier" in written
    assert b"0.1234567" not in written
