"""Fine-tune a small language model privately, first public text and then LoRA on private text.

Run it with ``python examples/finetune.py``; it needs ``pip install 'discreet[transformers]'``,
downloads nothing, and takes under a minute on a CPU.
"""

from __future__ import annotations

import os
import tempfile
import warnings
from pathlib import Path

os.environ["HF_HUB_OFFLINE"] = "1"

import torch
from peft import LoraConfig, get_peft_model
from tokenizers import Tokenizer, models, pre_tokenizers, trainers
from transformers import (
    DataCollatorForLanguageModeling,
    GPT2Config,
    GPT2LMHeadModel,
    PreTrainedTokenizerFast,
    Trainer,
    TrainingArguments,
    logging,
)

import discreet as dp
from discreet.torch.adapters import PrivateTrainer

PUBLIC = [line for line in (dp.__doc__ or "").splitlines() if line.strip()] * 8
WARDS = ("north", "south", "east", "west")
PRIVATE = [
    f"the patient in the {WARDS[n % 4]} ward left on day {n % 7} of week {n % 5}"
    for n in range(400)
]
LENGTH = 16


def tokenizer_of(texts: list[str]) -> PreTrainedTokenizerFast:
    """Train a tokenizer on public text."""
    made = Tokenizer(models.BPE(unk_token="[UNK]"))
    made.pre_tokenizer = pre_tokenizers.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    made.train_from_iterator(
        texts,
        trainers.BpeTrainer(
            vocab_size=400,
            special_tokens=["[UNK]", "[PAD]"],
            initial_alphabet=alphabet,
            show_progress=False,
        ),
    )
    return PreTrainedTokenizerFast(tokenizer_object=made, unk_token="[UNK]", pad_token="[PAD]")


def arguments(folder: str, *, steps: int, rate: float) -> TrainingArguments:
    """Return the arguments of a short run."""
    return TrainingArguments(
        output_dir=folder,
        per_device_train_batch_size=16,
        gradient_accumulation_steps=4,
        max_steps=steps,
        learning_rate=rate,
        report_to="none",
        save_strategy="no",
        use_cpu=True,
        disable_tqdm=True,
    )


def main() -> None:
    """Train in public, then adapt in private."""
    warnings.simplefilter("ignore")  # Transformers warns of its own next version
    torch.manual_seed(0)
    logging.set_verbosity_error()
    tokenizer = tokenizer_of(PUBLIC)
    collate = DataCollatorForLanguageModeling(tokenizer, mlm=False)
    config = GPT2Config(
        vocab_size=len(tokenizer), n_positions=64, n_embd=32, n_layer=2, n_head=2, attn_pdrop=0.0
    )
    model = GPT2LMHeadModel(config)
    rows = [dict(tokenizer(text, truncation=True, max_length=LENGTH)) for text in PUBLIC]
    with tempfile.TemporaryDirectory() as folder:
        public = Trainer(
            model=model,
            args=arguments(folder, steps=20, rate=0.005),
            train_dataset=rows,
            data_collator=collate,
        )
        public.train()
        adapted = get_peft_model(
            model, LoraConfig(r=4, target_modules=["c_attn"], fan_in_fan_out=True)
        )
        budget = dp.Budget(epsilon=8, delta="1e-4")
        path = Path(folder) / "notes.ledger"
        with dp.ledger.Ledger.open(path, unit=dp.row(), budget=budget) as ledger:
            private = PrivateTrainer(
                model=adapted,
                args=arguments(folder, steps=20, rate=0.02),
                train_dataset=[dict(tokenizer(text)) for text in PRIVATE],
                data_collator=collate,
                privacy={
                    "ledger": ledger,
                    "unit": dp.row(),
                    "population": len(PRIVATE),
                    "epsilon": 8,
                    "delta": "1e-5",
                },
                length=LENGTH,
            )
            print(private.run.plan)
            private.train()
            for name, distance in private.movement.items():
                print(f"{name}: moved {distance:.3f}")
            print(ledger.left())


if __name__ == "__main__":
    main()
