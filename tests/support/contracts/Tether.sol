// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.20;

// A token like USDT on Tron (TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t). For tests.

/// Like USDT on Tron: transfer() works and still answers false, addresses can be blocked, and a fee
/// can be switched on that goes to the owner in a log of its own.
contract Tether {
    string public constant name = "Tether USD";
    string public constant symbol = "USDT";
    uint8 public constant decimals = 6;
    address public immutable owner;
    uint256 public totalSupply;
    uint256 public basisPointsRate;
    mapping(address => uint256) public balanceOf;
    mapping(address => bool) public isBlackListed;

    event Transfer(address indexed from, address indexed to, uint256 value);
    event AddedBlackList(address indexed user);
    event RemovedBlackList(address indexed user);

    constructor() {
        owner = msg.sender;
        totalSupply = 10 ** 18;
        balanceOf[msg.sender] = totalSupply;
    }

    modifier onlyOwner() {
        require(msg.sender == owner, "not the owner");
        _;
    }

    function addBlackList(address user) external onlyOwner {
        isBlackListed[user] = true;
        emit AddedBlackList(user);
    }

    function removeBlackList(address user) external onlyOwner {
        isBlackListed[user] = false;
        emit RemovedBlackList(user);
    }

    function setParams(uint256 rate) external onlyOwner {
        basisPointsRate = rate;
    }

    function transfer(address to, uint256 value) external returns (bool) {
        require(!isBlackListed[msg.sender]);
        uint256 fee = value * basisPointsRate / 10_000;
        balanceOf[msg.sender] -= value;
        balanceOf[to] += value - fee;
        emit Transfer(msg.sender, to, value - fee);
        if (fee > 0) {
            balanceOf[owner] += fee;
            emit Transfer(msg.sender, owner, fee);
        }
        return false;
    }
}
