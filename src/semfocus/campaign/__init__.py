"""A campaign: an ordered list of studies, worked through, exported as runs end, and continued on any machine."""

from semfocus.campaign.campaign import Campaign, open_campaign
from semfocus.campaign.stage import Stage

__all__ = ["Campaign", "Stage", "open_campaign"]
