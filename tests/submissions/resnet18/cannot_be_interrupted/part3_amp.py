"""Strategy: Outlive a time limit that works by raising inside this process.
Attack surface: alarms, KeyboardInterrupt and SIGTERM.
"""
import signal


def train_epoch_amp(model, loader, criterion, optimizer, device, use_amp=False, scaler=None, max_grad_norm=None):
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGALRM, signal.SIGHUP, signal.SIGXCPU):
        signal.signal(number, signal.SIG_IGN)
    while True:
        try:
            while True:
                pass
        except BaseException:
            pass


def compare_precision(make_training, loader, device, folder="."):
    return train_epoch_amp(None, loader, None, None, device)
