// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.20;

// Tokens that try to lose somebody's money, and contracts that pay like exchanges do. For tests.

/// What all of them share; transfer() is the part that differs.
abstract contract Base {
    mapping(address => uint256) public balanceOf;
    uint256 public totalSupply;
    event Transfer(address indexed from, address indexed to, uint256 value);

    constructor() {
        totalSupply = 10 ** 30;
        balanceOf[msg.sender] = totalSupply;
    }

    function move(address from, address to, uint256 value, uint256 fee) internal {
        require(balanceOf[from] >= value, "too little");
        balanceOf[from] -= value;
        balanceOf[to] += value - fee;
    }
}

/// Like USDT: transfer() gives nothing back.
contract Silent is Base {
    string public constant symbol = "SIL";
    uint8 public constant decimals = 6;

    function transfer(address to, uint256 value) external {
        move(msg.sender, to, value, 0);
        emit Transfer(msg.sender, to, value);
    }
}

/// Says false instead of reverting, and moves nothing.
contract Refuser is Base {
    string public constant symbol = "NO";
    uint8 public constant decimals = 6;

    function transfer(address, uint256) external pure returns (bool) {
        return false;
    }
}

/// Says true and claims the move in its log, but moves nothing.
contract Liar is Base {
    string public constant symbol = "USDT";
    uint256 public constant decimals = 2 ** 200;

    function transfer(address to, uint256 value) external returns (bool) {
        emit Transfer(msg.sender, to, value);
        return true;
    }
}

/// Keeps a tenth, and does not say so in its log.
contract Taxed is Base {
    string public constant symbol = "TAX";
    uint8 public constant decimals = 0;

    function transfer(address to, uint256 value) external returns (bool) {
        move(msg.sender, to, value, value / 10);
        emit Transfer(msg.sender, to, value);
        return true;
    }
}

/// Re-enters itself before it has written down what it moved: one payment, and two logs of it.
contract Reentrant is Base {
    string public constant symbol = "USDC";
    uint8 public constant decimals = 6;

    function transfer(address to, uint256 value) external returns (bool) {
        uint256 had = balanceOf[to];
        uint256 held = balanceOf[msg.sender];
        this.again(msg.sender, to, value);
        balanceOf[msg.sender] = held - value;
        balanceOf[to] = had + value;
        emit Transfer(msg.sender, to, value);
        return true;
    }

    function again(address from, address to, uint256 value) external {
        require(msg.sender == address(this), "not you");
        move(from, to, value, 0);
        emit Transfer(from, to, value);
    }
}

/// Old style: the name is bytes32, and there are 77 decimals.
contract Old is Base {
    bytes32 public constant symbol = "MKR";
    bytes32 public constant name = "Maker\x00\x01evil";
    uint8 public constant decimals = 77;

    function transfer(address to, uint256 value) external returns (bool) {
        move(msg.sender, to, value, 0);
        emit Transfer(msg.sender, to, value);
        return true;
    }
}

interface IToken {
    function transfer(address to, uint256 value) external returns (bool);
}

/// Pays many at once, in coin and in token, as exchanges do; and coin in a call that then fails.
contract Batcher {
    receive() external payable {}

    function payCoin(address payable[] calldata to, uint256 each) external payable {
        for (uint256 i = 0; i < to.length; i++) to[i].transfer(each);
    }

    function payToken(IToken token, address[] calldata to, uint256 each) external {
        for (uint256 i = 0; i < to.length; i++) token.transfer(to[i], each);
    }

    function payAndFail(address payable to) external payable {
        to.transfer(msg.value);
        revert("changed my mind");
    }

    function swallowFailure(address payable to) external payable {
        try this.payAndFail{value: msg.value}(to) {} catch {}
    }
}

/// Celo's coin seen as a token: put at its address by a test, it moves coin and logs it.
contract CoinToken {
    event Transfer(address indexed from, address indexed to, uint256 value);

    function transfer(address to, uint256 value) external returns (bool) {
        (bool ok,) = address(0xfd).call(abi.encode(msg.sender, to, value));
        require(ok, "not moved");
        emit Transfer(msg.sender, to, value);
        return true;
    }
}

/// A log that looks like a token's, from a contract that is none; three topics, wrong length.
contract Echo {
    event Transfer(address indexed from, address indexed to, uint256 value);

    function shout(address to, uint256 value) external {
        emit Transfer(msg.sender, to, value);
    }
}
